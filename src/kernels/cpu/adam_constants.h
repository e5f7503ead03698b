// Adam in a step of a layer's training.
#pragma once

#include <cmath>

#include "kernels/backend.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/padded_weights.h"

namespace l2gcn {

// What Adam needs in a step, and what decoupled decay leaves of a weight before it.
struct AdamStep {
  AdamConstants constants{};
  float kept = 1;
};

// `step` counts from 1 and is Adam's own; `rate` is what the schedule makes of spec.lr; `decays`: whether the parameter is a
// weight.
inline AdamStep AdamStepAt(const LayerSpec& spec, float rate, uint64_t step, bool decays) {
  const double t = static_cast<double>(step);
  const bool l2 = spec.weight_decay_type == WeightDecay::kL2;
  return {{static_cast<float>(rate / (1.0 - std::pow(static_cast<double>(spec.beta1), t))),
           static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(static_cast<double>(spec.beta2), t))),
           spec.beta1, spec.beta2, spec.epsilon, decays && l2 ? spec.weight_decay : 0},
          decays && !l2 ? 1.0f - rate * spec.weight_decay : 1.0f};
}

// Steps `count` values from `at` on, a multiple of kPad.
inline void StepWeights(const CpuKernels& kernels, const AdamStep& step, const Array<float>& gradient,
                        size_t at, size_t count, PaddedWeights& weights) {
  float* const w = weights.w.mutable_data() + at;
  for (size_t i = 0; step.kept != 1 && i < count; ++i) w[i] *= step.kept;
  kernels.adam(count, gradient.data() + at, w, weights.m.mutable_data() + at, weights.v.mutable_data() + at,
               step.constants);
}

}  // namespace l2gcn
