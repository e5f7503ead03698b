#include "fuzz/fuzz_common.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace l2gcn;
  const std::filesystem::path path = AsFile(data, size, "edges.csv");
  OnlyErrors([&] { OpenDataset(MakeContext(1), path.string()); });
  return 0;
}
