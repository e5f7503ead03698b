// A layer's parameter in training: its values with Adam's moments, their gradient, and Adam's step.
#pragma once

#include <string>

#include "core/layer_parameters.h"
#include "kernels/backend.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/padded_weights.h"

namespace l2gcn {

struct CpuParameter {
  std::string name;
  size_t rows = 0;        // without padding; 0: the layer does not have it
  PaddedWeights weights;  // its rows may be padded with zeros
  Array<float> grad;      // like weights
  uint64_t steps = 0;     // of Adam, before the layer's first epoch
  bool trained = false;
  bool decays = false;

  CpuParameter() = default;
  CpuParameter(const LayerState& state, const std::string& of, size_t padded_rows = 0);

  bool exists() const { return rows > 0; }
  size_t stride() const { return weights.stride; }
  const float* row(size_t i) const { return weights.w.data() + i * weights.stride; }
  float* grad_row(size_t i) { return grad.mutable_data() + i * weights.stride; }

  // Sets Adam's constants for the step that follows `done` steps of the layer; `rate` is what the schedule makes of spec.lr.
  void BeginStep(const LayerSpec& spec, float rate, uint64_t done);
  // Adam, of rows begin … end − 1.
  void StepRows(const CpuKernels& kernels, size_t begin, size_t end);
  // Rows begin … end − 1 become columns of `to` (cols × to_stride).
  void TransposeRows(size_t begin, size_t end, size_t to_stride, Array<float>& to) const;
  // As it is after `done` steps of the layer.
  Parameter Read(uint64_t done) const;

 private:
  AdamConstants adam_{};
  float kept_ = 1;  // what decoupled decay leaves of a weight before a step
};

}  // namespace l2gcn
