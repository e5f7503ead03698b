// A model's two files as a bundle. What loads must also have shapes that fit each other: its classifier's
// rows are added up here as inference would read them.
#include "data/bundle.h"
#include "fuzz/fuzz_common.h"
#include "l2gcn/model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace l2gcn;
  const std::filesystem::path folder = AsFile(nullptr, 0, "mark").parent_path() / "model";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  UnpackBundle({reinterpret_cast<const char*>(data), size}, folder);
  OnlyErrors([&] {
    const Model model = LoadModel(folder.string());
    volatile float sum = 0;
    for (const l2gcn::HiddenParameters& layer : model.layers) {
      const l2gcn::Matrix& weights = layer.weight;
      for (size_t i = 0; i < weights.rows * weights.cols; ++i) sum = sum + weights.values.data()[i];
    }
    for (size_t i = 0; i < model.theta.rows * model.classes; ++i) sum = sum + model.theta.values.data()[i];
    for (size_t i = 0; !model.preparation.shift.empty() && i < model.features; ++i)
      sum = sum + model.preparation.shift.data()[i] * model.preparation.factor.data()[i];
  });
  return 0;
}
