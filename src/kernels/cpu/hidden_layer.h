// A hidden layer in training: its parameters with their gradients and Adam's moments, and one batch's values.
//
// Batch norm needs sums over a whole batch. They are taken panel by panel of rows, and the panels in order, so that they
// do not depend on which thread had which panel.
#pragma once

#include <cstddef>
#include <string>

#include "core/layer_parameters.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parameter.h"
#include "kernels/cpu/sample_groups.h"

namespace l2gcn {

// One batch's values are all (batch × width) with the weights' stride.
class HiddenLayer {
 public:
  // Takes the parameters PREFIX + "weight", …; batches have up to `batch` rows.
  HiddenLayer(const LayerState& start, const std::string& prefix, HiddenNorm norm, size_t batch);

  // Where products read W in another layout (CpuKernels::pack), this is it, of the rows from `first` on: those that
  // meet dense columns. Rows that have changed are packed again.
  void PreparePacked(const CpuKernels& kernels, size_t first);
  void PackRows(const CpuKernels& kernels, size_t begin, size_t end);
  const uint16_t* packed_w() const { return packed_.empty() ? nullptr : packed_.data(); }

  // The layer as it predicts.
  CpuHidden view() const {
    return HiddenFrom(weight.weights, bias.weights, norm_weight.weights, norm_bias.weights,
                      running_mean.weights, running_var.weights);
  }

  // The values of rows panel … panel + count − 1 from their products, in training and without dropout. With batch norm
  // SumMoments() of all panels and CombineMoments() come first.
  void Activate(const CpuKernels& kernels, size_t panel, size_t count);
  void SumMoments(const CpuKernels& kernels, size_t panel, size_t count);
  void CombineMoments(size_t batch);

  // The gradient of the products from d. With batch norm SumGradients() of all panels and CombineGradients() come first;
  // those sums are the gradients of the norm's parameters.
  void Gradient(const CpuKernels& kernels, size_t panel, size_t count);
  void SumGradients(const CpuKernels& kernels, size_t panel, size_t count);
  void CombineGradients(size_t batch);
  // The gradients of what scales and shifts, over the whole batch.
  void ShiftGradients(const CpuKernels& kernels, size_t batch);

  const float* product_gradient() const { return norm == HiddenNorm::kNone ? d.data() : dy.data(); }

  const size_t width, stride;
  const HiddenNorm norm;
  CpuParameter weight, bias, norm_weight, norm_bias, running_mean, running_var;
  Array<float> y;   // products; normalised, with a norm
  Array<float> h;   // values
  Array<float> d;   // gradient of what ReLU was given
  Array<float> dy;  // gradient of the products, with a norm

 private:
  float* PanelSums(size_t panel) { return panel_sums_.mutable_data() + panel / kPanelRows * 2 * stride; }

  Array<float> inverse_;  // 1 / √(var + ε): (batch) of LayerNorm's rows, (stride) of batch norm's columns
  // Batch norm alone has these:
  Array<float> mean_;  // (stride) of the batch
  Array<float>
      panel_sums_;  // (panels × 2 × stride) means and squares around them; then sums of d and of d ∘ y
  Array<float> slopes_;  // (3 × stride) norm's weight times inverse_, means of d and of d ∘ y
  Array<uint16_t> packed_;
  size_t first_packed_ = 0;
};

}  // namespace l2gcn
