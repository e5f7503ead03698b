#include "kernels/cpu/batch_loss.h"

#include <algorithm>
#include <cmath>

namespace l2gcn {

BatchLoss::BatchLoss(const CpuKernels& kernels, const Targets& targets, size_t batch)
    : kernels_(kernels), targets_(targets), panel_loss_((batch + kPanelRows - 1) / kPanelRows) {
  if (targets_.weights.empty()) return;
  weights_ = Array<float>::Zeros(PadWidth(targets_.classes));
  std::copy(targets_.weights.begin(), targets_.weights.end(), weights_.mutable_data());
}

void BatchLoss::Begin(std::span<const uint32_t> drawn, bool wanted) {
  drawn_ = drawn;
  wanted_ = wanted;
  terms_ = Terms();
}

double BatchLoss::Terms() const {
  if (targets_.regression()) return TermsOfRegression();
  const auto size = static_cast<double>(drawn_.size());
  if (targets_.multilabel) return size * static_cast<double>(targets_.classes);
  if (weights_.empty()) return size;
  double sum = 0;
  for (const uint32_t sample : drawn_)
    sum += double{weights_[static_cast<size_t>(targets_.classes_of[sample])]};
  return sum;
}

double BatchLoss::TermsOfRegression() const {
  double sum = 0;
  for (const uint32_t sample : drawn_) {
    const float* row = targets_.values.data() + size_t{sample} * targets_.classes;
    const auto present =
        std::count_if(row, row + targets_.classes, [](float value) { return !std::isnan(value); });
    const double weight = targets_.node_weights.empty() ? 1.0 : double{targets_.node_weights[sample]};
    sum += weight * static_cast<double>(present);
  }
  return sum;
}

void BatchLoss::Gradient(size_t panel, size_t count, size_t stride, float* z) {
  const std::span<const uint32_t> drawn = drawn_.subspan(panel, count);
  const float* const weights = weights_.empty() ? nullptr : weights_.data();
  const float scale = 1.0f / static_cast<float>(terms_);
  double& loss = panel_loss_[panel / kPanelRows];
  if (targets_.regression()) {
    const float* values[kPanelRows];
    float row_weights[kPanelRows];
    const bool weighted = !targets_.node_weights.empty();
    for (size_t i = 0; i < count; ++i) {
      values[i] = targets_.values.data() + size_t{drawn[i]} * targets_.classes;
      if (weighted) row_weights[i] = targets_.node_weights[drawn[i]];
    }
    loss = kernels_.regression_loss(count, targets_.classes, stride, z, values,
                                    weighted ? row_weights : nullptr, targets_.loss, scale, wanted_);
  } else if (targets_.multilabel) {
    const uint8_t* labels[kPanelRows];
    for (size_t i = 0; i < count; ++i)
      labels[i] = targets_.matrix.data() + size_t{drawn[i]} * targets_.classes;
    loss = kernels_.sigmoid_loss(count, targets_.classes, stride, z, labels, weights, scale, wanted_);
  } else {
    int32_t classes[kPanelRows];
    for (size_t i = 0; i < count; ++i) classes[i] = targets_.classes_of[drawn[i]];
    loss = kernels_.softmax_loss(count, targets_.classes, stride, z, classes, weights, scale, wanted_);
  }
}

double BatchLoss::Mean() const {
  double sum = 0;
  for (size_t row = 0; row < drawn_.size(); row += kPanelRows) sum += panel_loss_[row / kPanelRows];
  return sum / terms_;
}

void BatchLoss::Prefetch(std::span<const uint32_t> drawn) const {
  if (targets_.multilabel || targets_.regression()) return;
  for (const uint32_t sample : drawn) __builtin_prefetch(targets_.classes_of.data() + sample);
}

}  // namespace l2gcn
