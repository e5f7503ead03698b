// What becomes of a hidden layer's products in prediction: a shift by a bias, LayerNorm, or the scale and shift that
// batch norm's running statistics come to; then ReLU.
#pragma once

#include "kernels/cpu/padded_weights.h"
#include "l2gcn/layer_parameters.h"

namespace l2gcn {

// A hidden layer's parameters where they lie; those that it does not have are null. Vectors are (stride) of the weight.
struct CpuHidden {
  const PaddedWeights* weight = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;
  bool layer_norm = false;  // each row is normalised before it is scaled and shifted
  Array<float> folded;      // (2 × stride) scale and shift, where they were computed for this

  size_t width() const { return weight == nullptr ? 0 : weight->cols; }
  size_t stride() const { return weight == nullptr ? 0 : weight->stride; }
};

// The layer of padded parameters: `bias`, `norm_weight` and the others have no rows where there are none. They must
// outlive the result.
CpuHidden HiddenFrom(const PaddedWeights& weight, const PaddedWeights& bias, const PaddedWeights& norm_weight,
                     const PaddedWeights& norm_bias, const PaddedWeights& running_mean,
                     const PaddedWeights& running_var);

// The same of a layer's parameters, which it pads and holds.
class PaddedHidden {
 public:
  explicit PaddedHidden(const HiddenParameters& from);
  PaddedHidden(const PaddedHidden&) = delete;
  PaddedHidden& operator=(const PaddedHidden&) = delete;
  CpuHidden view() const {
    return HiddenFrom(weight_, bias_, norm_weight_, norm_bias_, running_mean_, running_var_);
  }

 private:
  PaddedWeights weight_, bias_, norm_weight_, norm_bias_, running_mean_, running_var_;
};

// h (count × PadWidth(width), stride as y) from the products y, which may be changed; inverse (count) is scratch.
void Activate(const CpuKernels& kernels, const CpuHidden& hidden, size_t count, float* y, float* inverse,
              float* h);
// h = ReLU(y), likewise.
void Rectify(size_t count, size_t width, size_t stride, const float* y, float* h);

}  // namespace l2gcn
