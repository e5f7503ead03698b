#include "data/graphbolt.h"
#include "data/schema_file.h"
#include "fuzz/fuzz_common.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace l2gcn;
  const std::filesystem::path path = AsFile(data, size, "metadata.yaml");
  OnlyErrors([&] { ReadGraphBolt(Context{}, path, {}); });
  OnlyErrors([&] { ReadSchemaFile(Context{}, path, {}); });
  return 0;
}
