// How the threads share the gradient of a sparse first layer: each owns a range of features, that is of rows
// of ∂W, and adds the non-zeros of its range only. Column indices of a row ascend, so a thread's part of a
// row is one stretch of it, found once per training.
#pragma once

#include <cstdint>
#include <vector>

#include "l2gcn/array.h"

namespace l2gcn {

struct FeatureCuts {
  uint32_t workers = 0;
  std::vector<size_t> features;   // (workers + 1) first feature of each worker, and the end
  std::vector<uint32_t> offsets;  // (rows × (workers + 1)) where each worker's stretch of a row begins

  FeatureCuts() = default;
  // Ranges of about equal cost: `row_cost` for a feature's update, 1 for each of `batch` samples' non-zeros.
  FeatureCuts(const CsrMatrix& x, size_t batch, double row_cost, uint32_t worker_count);
};

}  // namespace l2gcn
