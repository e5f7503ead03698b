// Writes a tensor's rows while the next ones are computed.
#pragma once

#include <future>
#include <utility>

#include "kernels/disk/disk_tensor.h"

namespace l2gcn {

class WriteBehind {
 public:
  explicit WriteBehind(FileTensor& out) : out_(out) {}
  // What was put before is written when this returns; an error in writing it is thrown here.
  void Put(size_t begin, size_t first, Features rows) {
    Finish();
    writing_ = std::async(std::launch::async, [this, begin, first, rows = std::move(rows)] {
      out_.Write(begin, first, rows, buffer_);
    });
  }
  void Finish() {
    if (writing_.valid()) writing_.get();
  }

 private:
  FileTensor& out_;
  DiskBuffer buffer_;
  std::future<void> writing_;
};

}  // namespace l2gcn
