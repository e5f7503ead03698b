#include "kernels/cpu/hidden_layer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/norm_constants.h"

namespace l2gcn {
HiddenLayer::HiddenLayer(const LayerState& start, const std::string& prefix, HiddenNorm kind, size_t batch)
    : width(start[prefix + "weight"].value.cols),
      stride(PadStride(width)),
      norm(kind),
      weight(start, prefix + "weight"),
      bias(start, prefix + "bias"),
      norm_weight(start, prefix + "norm.weight"),
      norm_bias(start, prefix + "norm.bias"),
      running_mean(start, prefix + "norm.running_mean"),
      running_var(start, prefix + "norm.running_var") {
  y = Array<float>::Allocate(batch * stride);
  h = Array<float>::Allocate(batch * stride);
  d = Array<float>::Allocate(batch * stride);
  if (norm == HiddenNorm::kNone) return;
  dy = Array<float>::Allocate(batch * stride);
  inverse_ = Array<float>::Zeros(norm == HiddenNorm::kBatch ? stride : batch);
  if (norm != HiddenNorm::kBatch) return;
  mean_ = Array<float>::Zeros(stride);
  panel_sums_ = Array<float>::Zeros((batch + kPanelRows - 1) / kPanelRows * 2 * stride);
  slopes_ = Array<float>::Zeros(3 * stride);
}

void HiddenLayer::PreparePacked(const CpuKernels& kernels, size_t first) {
  const size_t rows = weight.rows - first;
  if (kernels.pack == nullptr || rows == 0) return;
  first_packed_ = first;
  packed_ = Array<uint16_t>::Zeros(kernels.packed_values(rows, PadWidth(width)));
  PackRows(kernels, first, weight.rows);
}

void HiddenLayer::PackRows(const CpuKernels& kernels, size_t begin, size_t end) {
  if (packed_.empty()) return;
  kernels.pack(weight.row(first_packed_), stride, weight.rows - first_packed_, PadWidth(width),
               begin - first_packed_, end - first_packed_, packed_.mutable_data());
}

void HiddenLayer::Activate(const CpuKernels& kernels, size_t panel, size_t count) {
  float* const products = y.mutable_data() + panel * stride;
  float* const values = h.mutable_data() + panel * stride;
  switch (norm) {
    case HiddenNorm::kNone:
      if (bias.exists()) return kernels.bias_relu(count, width, stride, bias.row(0), products, values);
      return Rectify(count, width, stride, products, values);
    case HiddenNorm::kLayer:
      return kernels.norm_relu(count, width, stride, norm_weight.row(0), norm_bias.row(0), products,
                               inverse_.mutable_data() + panel, values);
    case HiddenNorm::kBatch:
      return kernels.batch_norm_relu(count, width, stride, mean_.data(), inverse_.data(), norm_weight.row(0),
                                     norm_bias.row(0), products, values);
  }
}

void HiddenLayer::SumMoments(const CpuKernels& kernels, size_t panel, size_t count) {
  float* const sums = PanelSums(panel);
  kernels.column_moments(count, PadWidth(width), stride, y.data() + panel * stride, sums, sums + stride);
}

// Means and squared distances of panels to those of the batch (Chan et al., 1979).
void HiddenLayer::CombineMoments(size_t batch) {
  std::vector<double> mean(stride, 0.0), squares(stride, 0.0);
  for (size_t panel = 0; panel < batch; panel += kPanelRows) {
    const float* const means = PanelSums(panel);
    const float* const more = means + stride;
    const auto before = static_cast<double>(panel),
               rows = static_cast<double>(std::min(kPanelRows, batch - panel));
    const double share = rows / (before + rows), spread = before * share;
    for (size_t c = 0; c < width; ++c) {
      const double apart = static_cast<double>(means[c]) - mean[c];
      mean[c] += apart * share;
      squares[c] += static_cast<double>(more[c]) + apart * apart * spread;
    }
  }
  const auto rows = static_cast<double>(batch);
  float* const of_batch = mean_.mutable_data();
  float* const inverse = inverse_.mutable_data();
  float* const following_mean = running_mean.weights.w.mutable_data();
  float* const following_var = running_var.weights.w.mutable_data();
  for (size_t c = 0; c < width; ++c) {
    const double variance = squares[c] / rows + static_cast<double>(kNormEpsilon);
    const double unbiased = squares[c] / std::max(1.0, rows - 1);
    of_batch[c] = static_cast<float>(mean[c]);
    inverse[c] =
        static_cast<float>(1 / std::sqrt(variance) + variance * 0);  // NaN where the squares overflow
    following_mean[c] += kRunningShare * (of_batch[c] - following_mean[c]);
    following_var[c] += kRunningShare * (static_cast<float>(unbiased) - following_var[c]);
  }
}

void HiddenLayer::Gradient(const CpuKernels& kernels, size_t panel, size_t count) {
  if (norm == HiddenNorm::kNone) return;
  const size_t at = panel * stride;
  float* const out = dy.mutable_data() + at;
  for (size_t i = 0; i < count; ++i)
    std::copy_n(d.data() + at + i * stride, PadWidth(width), out + i * stride);
  if (norm == HiddenNorm::kLayer) {
    kernels.norm_gradient(count, width, stride, norm_weight.row(0), y.data() + at, inverse_.data() + panel,
                          out);
  } else {
    kernels.batch_norm_gradient(count, width, stride, slopes_.data(), y.data() + at, out);
  }
}

void HiddenLayer::SumGradients(const CpuKernels& kernels, size_t panel, size_t count) {
  float* const sums = PanelSums(panel);
  kernels.column_sums(count, PadWidth(width), stride, d.data() + panel * stride, y.data() + panel * stride,
                      sums, sums + stride);
}

void HiddenLayer::CombineGradients(size_t batch) {
  float* const of_bias = norm_bias.grad.mutable_data();
  float* const of_weight = norm_weight.grad.mutable_data();
  std::fill_n(of_bias, stride, 0.0f);
  std::fill_n(of_weight, stride, 0.0f);
  for (size_t panel = 0; panel < batch; panel += kPanelRows) {
    const float* const sums = PanelSums(panel);
    for (size_t c = 0; c < width; ++c) of_bias[c] += sums[c], of_weight[c] += sums[stride + c];
  }
  float* const slopes = slopes_.mutable_data();
  const auto rows = static_cast<float>(batch);
  for (size_t c = 0; c < width; ++c) {
    slopes[c] = norm_weight.row(0)[c] * inverse_[c];
    slopes[stride + c] = of_bias[c] / rows;
    slopes[2 * stride + c] = of_weight[c] / rows;
  }
}

void HiddenLayer::ShiftGradients(const CpuKernels& kernels, size_t batch) {
  if (norm == HiddenNorm::kBatch) return;  // CombineGradients() has them
  const bool layer_norm = norm == HiddenNorm::kLayer;
  kernels.column_sums(batch, PadWidth(width), stride, d.data(), layer_norm ? y.data() : nullptr,
                      (layer_norm ? norm_bias : bias).grad.mutable_data(),
                      layer_norm ? norm_weight.grad.mutable_data() : nullptr);
}

}  // namespace l2gcn
