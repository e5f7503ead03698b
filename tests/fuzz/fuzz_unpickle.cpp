#include "data/pickle.h"
#include "data/sparse_matrix.h"
#include "fuzz/fuzz_common.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace l2gcn;
  const Owned input = Own(data, size);
  const Context context;
  OnlyErrors([&] {
    const Pickle pickle = Pickle::Parse(input.text, input.bytes, "fuzz");
    OnlyErrors([&] { ToCsr(context, SparseFromPickle(context, pickle, pickle.root())); });
    OnlyErrors([&] { pickle.ToArray(pickle.root()).As<float>(context); });
    pickle.Objects(pickle.root());
  });
  return 0;
}
