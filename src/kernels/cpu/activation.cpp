#include "kernels/cpu/activation.h"

#include <algorithm>
#include <cmath>

#include "kernels/norm_constants.h"

namespace l2gcn {
namespace {

// (y − mean) / √(var + ε) · weight + bias = y · scale + shift.
Array<float> Folded(const PaddedWeights& norm_weight, const PaddedWeights& norm_bias,
                    const PaddedWeights& running_mean, const PaddedWeights& running_var) {
  const size_t stride = norm_weight.stride;
  Array<float> folded = Array<float>::Zeros(2 * stride);
  float* const scale = folded.mutable_data();
  for (size_t c = 0; c < norm_weight.cols; ++c) {
    scale[c] = norm_weight.w[c] / std::sqrt(running_var.w[c] + kNormEpsilon);
    scale[stride + c] = norm_bias.w[c] - running_mean.w[c] * scale[c];
  }
  return folded;
}

PaddedWeights Pad(const Matrix& from) { return {from, {}, {}, from.rows}; }

}  // namespace

CpuHidden HiddenFrom(const PaddedWeights& weight, const PaddedWeights& bias, const PaddedWeights& norm_weight,
                     const PaddedWeights& norm_bias, const PaddedWeights& running_mean,
                     const PaddedWeights& running_var) {
  CpuHidden hidden;
  hidden.weight = &weight;
  if (running_mean.rows > 0) {
    hidden.folded = Folded(norm_weight, norm_bias, running_mean, running_var);
    hidden.scale = hidden.folded.data();
    hidden.shift = hidden.folded.data() + weight.stride;
  } else if (norm_weight.rows > 0) {
    hidden.scale = norm_weight.w.data();
    hidden.shift = norm_bias.w.data();
    hidden.layer_norm = true;
  } else if (bias.rows > 0) {
    hidden.shift = bias.w.data();
  }
  return hidden;
}

PaddedHidden::PaddedHidden(const HiddenParameters& from)
    : weight_(Pad(from.weight)),
      bias_(Pad(from.bias)),
      norm_weight_(Pad(from.norm_weight)),
      norm_bias_(Pad(from.norm_bias)),
      running_mean_(Pad(from.running_mean)),
      running_var_(Pad(from.running_var)) {}

void Activate(const CpuKernels& kernels, const CpuHidden& hidden, size_t count, float* y, float* inverse,
              float* h) {
  const size_t width = hidden.width(), stride = hidden.stride();
  if (hidden.layer_norm)
    return kernels.norm_relu(count, width, stride, hidden.scale, hidden.shift, y, inverse, h);
  if (hidden.scale != nullptr)
    return kernels.scale_relu(count, width, stride, hidden.scale, hidden.shift, y, h);
  if (hidden.shift != nullptr) return kernels.bias_relu(count, width, stride, hidden.shift, y, h);
  Rectify(count, width, stride, y, h);
}

void Rectify(size_t count, size_t width, size_t stride, const float* y, float* h) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < PadWidth(width); ++c) h[i * stride + c] = std::max(y[i * stride + c], 0.0f);
  }
}

}  // namespace l2gcn
