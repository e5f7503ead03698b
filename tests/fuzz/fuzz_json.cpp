#include "data/feature_files.h"
#include "data/json_maps.h"
#include "fuzz/fuzz_common.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace l2gcn;
  const std::filesystem::path path = AsFile(data, size, "a.json");
  OnlyErrors([&] { ReadJsonFeatures(path, [](std::string_view) { return 0u; }); });
  OnlyErrors([&] { ReadClassMap(path); });
  OnlyErrors([&] { ReadIndexLists(path); });
  OnlyErrors([&] { ReadNodeLink(path); });
  return 0;
}
