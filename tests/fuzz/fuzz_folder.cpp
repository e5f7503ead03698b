// Data sets that are folders, as bundles. Native directories are opened, their values validated and their
// checksums compared.
#include "data/bundle.h"
#include "data/native_store.h"
#include "fuzz/fuzz_common.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace l2gcn;
  const std::filesystem::path folder = AsFile(nullptr, 0, "mark").parent_path() / "set";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  UnpackBundle({reinterpret_cast<const char*>(data), size}, folder);
  const Context context = MakeContext(1);
  OnlyErrors([&] { ValidateDataset(context, OpenDataset(context, folder.string())); });
  if (IsNative(folder)) OnlyErrors([&] { VerifyNative(context, folder); });
  return 0;
}
