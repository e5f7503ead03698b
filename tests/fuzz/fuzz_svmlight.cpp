#include "data/feature_files.h"
#include "fuzz/fuzz_common.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace l2gcn;
  const std::filesystem::path path = AsFile(data, size, "a.svm");
  std::vector<std::string> labels;
  OnlyErrors([&] { ReadSvmlight(path, labels); });
  return 0;
}
