// A run directory as a bundle: what evaluate, predict and report open, what --config reads, and a run that lacks only its
// name, as --resume finds it.
#include "data/bundle.h"
#include "fuzz/fuzz_common.h"
#include "l2gcn/train.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace l2gcn;
  const std::filesystem::path folder = AsFile(nullptr, 0, "mark").parent_path();
  for (const char* name : {"run", "cut", "cut.unfinished"}) std::filesystem::remove_all(folder / name);
  for (const char* name : {"run", "cut.unfinished"}) {
    std::filesystem::create_directories(folder / name);
    UnpackBundle({reinterpret_cast<const char*>(data), size}, folder / name);
  }
  const std::string run = (folder / "run").string();
  OnlyErrors([&] {
    const OpenedRun opened = OpenRun(run);
    volatile uint64_t sum = 0;
    for (const uint8_t role : opened.split.roles) sum = sum + role;
  });
  OnlyErrors([&] { ReadRunResult(run); });
  RunOptions options;
  OnlyErrors([&] { ReadSettings(run + "/config.json", options); });
  OnlyErrors([&] { ResumeRun((folder / "cut").string(), false); });
  return 0;
}
