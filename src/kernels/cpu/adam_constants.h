// Adam's constants in a step of a layer's training.
#pragma once

#include <cmath>

#include "kernels/backend.h"
#include "kernels/cpu/kernels.h"

namespace l2gcn {

// `step` counts from 1 and is Adam's own; `rate` is what the schedule makes of spec.lr.
inline AdamConstants AdamConstantsAt(const LayerSpec& spec, float rate, uint64_t step) {
  const double t = static_cast<double>(step);
  return {static_cast<float>(rate / (1.0 - std::pow(static_cast<double>(spec.beta1), t))),
          static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(static_cast<double>(spec.beta2), t))),
          spec.beta1,
          spec.beta2,
          spec.epsilon,
          spec.weight_decay};
}

}  // namespace l2gcn
