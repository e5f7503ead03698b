// JSON files of ours that hold settings: config.json's configuration, how a data set was opened, how an
// unfinished training was begun, a result.
#include "core/json_text.h"
#include "fuzz/fuzz_common.h"
#include "l2gcn/config.h"
#include "l2gcn/train.h"
#include "run/checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace l2gcn;
  const std::string text(reinterpret_cast<const char*>(data), size);
  OnlyErrors([&] { ConfigFromJson(text, "config.json"); });
  OnlyErrors([&] { OpenOptionsFromJson(text, "result.json"); });
  OnlyErrors([&] { BegunFrom(ParseJson(text, "begun.json"), "begun.json"); });
  const std::filesystem::path path = AsFile(data, size, "result.json");
  OnlyErrors([&] { OpenRun(path.parent_path().string()); });
  return 0;
}
