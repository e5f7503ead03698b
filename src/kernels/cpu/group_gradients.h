// The gradients of the groups of a batch's samples (kernels/cpu/sample_groups.h), kept apart until they are added up in
// order.
#pragma once

#include <cstddef>

#include "kernels/cpu/kernels.h"
#include "l2gcn/array.h"

namespace l2gcn {

class GroupGradients {
 public:
  GroupGradients() = default;
  // Gradients of `floats` values each, for batches of at most `most` groups.
  GroupGradients(const CpuKernels& kernels, size_t floats, size_t most)
      : kernels_(&kernels), floats_(floats), values_(Array<float>::Zeros(most * floats)) {}
  bool empty() const { return values_.empty(); }

  // The next step's batch has `groups` groups.
  void BeginStep(size_t groups) { groups_ = groups; }
  // Where the gradient of a group belongs.
  float* Of(size_t group) { return values_.mutable_data() + group * floats_; }
  // Values offset … offset + count − 1 of the step's gradient, to `out`.
  void Add(size_t offset, size_t count, float* out) const {
    kernels_->add_groups(count, groups_, floats_, values_.data() + offset, out);
  }

 private:
  const CpuKernels* kernels_ = nullptr;
  size_t floats_ = 0, groups_ = 0;
  Array<float> values_;  // (most groups × floats)
};

}  // namespace l2gcn
