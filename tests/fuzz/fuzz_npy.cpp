#include "data/npy.h"
#include "fuzz/fuzz_common.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace l2gcn;
  const Owned input = Own(data, size);
  const Context context;
  OnlyErrors([&] {
    const NpyArray array = NpyArray::Parse(input.text, input.bytes, "fuzz");
    OnlyErrors([&] { array.As<float>(context); });
    OnlyErrors([&] { array.As<uint32_t>(context); });
    OnlyErrors([&] { array.AsMatrix(context); });
    array.AsStrings();
  });
  return 0;
}
