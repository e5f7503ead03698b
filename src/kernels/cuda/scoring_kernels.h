// The kernels of scoring.h.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/regression.h"

namespace l2gcn::cuda {

struct ScoreArguments {
  size_t rows = 0;
  uint32_t classes = 0;
  size_t stride = 0;
  const float* z = nullptr;             // (rows × stride) logits without the bias
  const float* bias = nullptr;          // (classes) or null
  const int32_t* classes_of = nullptr;  // (rows), or
  const uint8_t* label_rows = nullptr;  // (rows × label_bytes) where there are several labels
  uint32_t label_bytes = 0;
  RegressionTargets regression;          // values are (rows × classes)
  float* losses = nullptr;               // (rows)
  float* misses = nullptr;               // (rows)
  float* margins = nullptr;              // (rows × classes) or null; not of several labels
  unsigned long long* counts = nullptr;  // (3) true and false positives, false negatives: added to
};
void LaunchScore(const ScoreArguments& a, cudaStream_t stream);

constexpr uint32_t kNoPlace = 0xFFFFFFFFu;
// to[i] = from[places[i]], or 0 for kNoPlace.
void LaunchPickElements(const float* from, const uint32_t* places, size_t count, float* to,
                        cudaStream_t stream);

}  // namespace l2gcn::cuda
