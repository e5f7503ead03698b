// The gradients of the groups of a batch's samples (kernels/cpu/sample_groups.h), kept apart until they are added up in
// order: of all groups, or, where members share the steps (StepShare), of this member's alone.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/backend.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/row_cuts.h"
#include "kernels/cpu/sample_groups.h"

namespace l2gcn {

class GroupGradients {
 public:
  GroupGradients() = default;
  // Gradients of `floats` values each, for batches of at most `most` groups.
  GroupGradients(const CpuKernels& kernels, size_t floats, size_t most, std::shared_ptr<StepShare> share)
      : kernels_(&kernels), floats_(floats), share_(std::move(share)) {
    const size_t own = share_ == nullptr ? most : 1 + (most + share_->members() - 1) / share_->members();
    values_ = Array<float>::Zeros(own * floats_);
  }
  bool empty() const { return values_.empty(); }

  // Begins a step: the samples of a batch of `size` whose groups are computed here.
  Range OwnSamples(const SampleGroups& groups, size_t size) {
    const size_t count = groups.Count(size);
    const uint32_t member = share_ != nullptr ? share_->member() : 0,
                   members = share_ != nullptr ? share_->members() : 1;
    const size_t begin = SampleGroups::Begin(count, member, members),
                 end = SampleGroups::Begin(count, member + 1, members);
    own_ = end - begin;
    return {std::min(begin * groups.rows(), size), std::min(end * groups.rows(), size)};
  }

  // Where the gradient of a group belongs, counted from the first that is computed here.
  float* Of(size_t group) { return values_.mutable_data() + (FirstPlace() + group) * floats_; }

  // Shared steps, once the groups are computed: leaves the sum over all members where Add finds it.
  void SumWithOthers() {
    const auto add = [&](size_t begin, size_t end) {
      float* const sum = values_.mutable_data() + begin;
      const size_t received = share_->member() == 0 ? 0 : 1;  // what came from the members before this one
      kernels_->add_groups(end - begin, own_ + received, floats_, sum + (1 - received) * floats_, sum);
    };
    share_->SumGradients(values_.mutable_span().first(floats_), add);
  }

  // Values offset … offset + count − 1 of the step's gradient, to `out`.
  void Add(size_t offset, size_t count, float* out) const {
    kernels_->add_groups(count, share_ != nullptr ? 1 : own_, floats_, values_.data() + offset, out);
  }

 private:
  size_t FirstPlace() const { return share_ != nullptr ? 1 : 0; }  // before it lies the sum

  const CpuKernels* kernels_ = nullptr;
  size_t floats_ = 0, own_ = 0;
  std::shared_ptr<StepShare> share_;
  Array<float> values_;  // (places × floats)
};

}  // namespace l2gcn
