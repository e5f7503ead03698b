// The targets of a regression on the device, and its losses (kernels/row_loss.h).
#pragma once

#include "l2gcn/choices.h"

namespace l2gcn::cuda {

struct RegressionTargets {
  const float* values = nullptr;   // (samples × targets) NaN = missing, or null: no regression
  const float* weights = nullptr;  // (samples), or null: all 1
  Loss loss = Loss::kSquared;
};

#ifdef __CUDACC__
__device__ __forceinline__ float DifferenceLoss(Loss loss, float d) {
  const float size = fabsf(d);
  if (loss == Loss::kAbsolute) return size;
  if (loss == Loss::kSquared) return d * d;
  return size <= 1.0f ? 0.5f * d * d : size - 0.5f;
}

__device__ __forceinline__ float DifferenceSlope(Loss loss, float d) {
  if (loss == Loss::kSquared) return 2.0f * d;
  if (loss == Loss::kHuber && fabsf(d) <= 1.0f) return d;
  return d == 0.0f ? d : copysignf(1.0f, d);
}
#endif

}  // namespace l2gcn::cuda
