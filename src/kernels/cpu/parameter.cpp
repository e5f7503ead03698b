#include "kernels/cpu/parameter.h"

#include <algorithm>
#include <cmath>

namespace l2gcn {

CpuParameter::CpuParameter(const LayerState& state, const std::string& of, size_t padded_rows) : name(of) {
  const Parameter* const from = state.Find(of);
  if (from == nullptr) return;
  rows = from->value.rows;
  weights = PaddedWeights(from->value, from->m, from->v, std::max(rows, padded_rows));
  steps = from->steps;
  trained = from->trained();
  decays = IsWeight(of);
  if (trained) grad = Array<float>::Zeros(weights.rows * weights.stride);
}

void CpuParameter::BeginStep(const LayerSpec& spec, float rate, uint64_t done) {
  const double t = static_cast<double>(steps + done + 1);
  const bool l2 = !spec.decoupled_weight_decay;
  adam_ = {static_cast<float>(rate / (1.0 - std::pow(static_cast<double>(spec.beta1), t))),
           static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(static_cast<double>(spec.beta2), t))),
           spec.beta1,
           spec.beta2,
           spec.epsilon,
           decays && l2 ? spec.weight_decay : 0};
  kept_ = decays && !l2 ? 1.0f - rate * spec.weight_decay : 1.0f;
}

void CpuParameter::StepRows(const CpuKernels& kernels, size_t begin, size_t end) {
  const size_t at = begin * weights.stride, count = (end - begin) * weights.stride;
  float* const w = weights.w.mutable_data() + at;
  for (size_t i = 0; kept_ != 1 && i < count; ++i) w[i] *= kept_;
  kernels.adam(count, grad.data() + at, w, weights.m.mutable_data() + at, weights.v.mutable_data() + at,
               adam_);
}

void CpuParameter::TransposeRows(size_t begin, size_t end, size_t to_stride, Array<float>& to) const {
  constexpr size_t kBlock = 16;
  float* const out = to.mutable_data();
  for (size_t first = 0; first < weights.cols; first += kBlock) {
    for (size_t i = begin; i < end; ++i) {
      const float* const values = row(i);
      for (size_t c = first; c < std::min(first + kBlock, weights.cols); ++c)
        out[c * to_stride + i] = values[c];
    }
  }
}

Parameter CpuParameter::Read(uint64_t done) const {
  const auto unpad = [&](const Array<float>& from) { return weights.Unpad(from, rows); };
  if (!trained) return {name, unpad(weights.w), {}, {}, 0};
  return {name, unpad(weights.w), unpad(weights.m), unpad(weights.v), steps + done};
}

}  // namespace l2gcn
