#include "fuzz/fuzz_common.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace l2gcn;
  OpenOptions options;
  options.edges = AsFile(reinterpret_cast<const uint8_t*>("0,1\n1,2\n"), 8, "e.csv").string();
  options.nodes = AsFile(data, size, "nodes.csv").string();
  OnlyErrors([&] { OpenDataset(MakeContext(1), "", options); });
  return 0;
}
