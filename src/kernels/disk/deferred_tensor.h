// A matrix that is computed when it is first read. Where an earlier process of the run left files, what they were made
// from may never be read again, so it is not computed before somebody does.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "kernels/disk/disk_tensor.h"

namespace l2gcn {

class DeferredTensor final : public Tensor {
 public:
  DeferredTensor(size_t row_count, size_t col_count, FeatureType type, uint64_t id,
                 std::function<std::shared_ptr<const DiskTensor>()> make)
      : identity(id), make_(std::move(make)) {
    rows = row_count;
    cols = col_count;
    bytes = rows * cols * BytesOf(type);
  }

  const DiskTensor& Made() const {
    if (made_ == nullptr) made_ = std::exchange(make_, nullptr)();
    return *made_;
  }

  const uint64_t identity;

 private:
  mutable std::function<std::shared_ptr<const DiskTensor>()> make_;  // holds what it computes from
  mutable std::shared_ptr<const DiskTensor> made_;
};

}  // namespace l2gcn
