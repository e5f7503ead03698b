// What a matrix on disk is computed from, as one number: equal for equal results in every process that works on the same
// files with the same build, so that a result that an earlier process kept can be found again (core/kept_scratch.h).
// 0 stands for a matrix that nobody will look for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/checksum.h"
#include "core/disk_memory.h"
#include "core/propagation.h"
#include "kernels/backend.h"

namespace l2gcn {

class TensorIdentity {
 public:
  // Of the result of a verb, or of something given.
  TensorIdentity(const Context& context, const DiskMemory& disk, std::string_view verb);

  TensorIdentity& Add(uint64_t word);
  // Of what it is made from; with a 0 the result is 0, too.
  TensorIdentity& From(uint64_t identity);
  TensorIdentity& Add(const void* data, size_t bytes);
  TensorIdentity& Add(std::span<const uint32_t> rows) { return Add(rows.data(), rows.size_bytes()); }
  TensorIdentity& Add(const Matrix& matrix);
  TensorIdentity& Add(const DenseBlock& block) { return Add(block.w).Add(block.affine); }
  TensorIdentity& Add(const Features& features);
  TensorIdentity& Add(const Propagation& a);

  uint64_t Sum() const;

 private:
  template <class T>
  TensorIdentity& AddArray(const Array<T>& array) {
    return Add(array.data(), array.bytes());
  }

  const Context& context_;
  const DiskMemory& disk_;
  ChecksumStream sum_;
  bool known_;
};

}  // namespace l2gcn
