// The state of a training cut off: the snapshot's file, and what it says of a layer.
#include "fuzz/fuzz_common.h"
#include "run/checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace l2gcn;
  const std::filesystem::path path = AsFile(data, size, "state-0.safetensors");
  OnlyErrors([&] {
    const StoredSnapshot stored = SnapshotFrom(ReadSafetensors(path));
    try {
      SeedResultFromJson(stored.snapshot.state.at("result"));
      stored.snapshot.TakeLayer("current", ParametersOf({}, 5, 2, 7));
    } catch (const nlohmann::json::exception&) {
      // Callers turn these into Errors.
    }
  });
  return 0;
}
