// The products that conventional training is made of, over the CPU's kernel table, split between threads by
// outputs: no sum is ever shared, so results do not depend on the thread count.
//
// Dense buffers are row-major; widths of weights, activations and gradients are padded to kPad with zeros.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/kernels.h"
#include "l2gcn/array.h"
#include "l2gcn/context.h"
#include "train/block.h"

namespace l2gcn {

inline constexpr size_t kRowPanel = 64;  // rows of a product or a loss that one thread takes at a time

// Memory that grows to the largest request and is not kept in order when it does.
class Buffer {
 public:
  float* Get(size_t count) {
    if (values_.size() < count) {
      values_ = {};  // give the old one back first
      values_ = Array<float>::Allocate(count);
    }
    return values_.mutable_data();
  }
  float* data() { return values_.mutable_data(); }
  const float* data() const { return values_.data(); }

 private:
  Array<float> values_;
};

class BlockMath {
 public:
  explicit BlockMath(const CpuKernels& kernels) : kernels_(kernels) {}

  // out (block.rows × width) = B x, with `values` (entries) as B's; x has stride width, and its row j is row
  // row_of[j] of the buffer (empty: row j).
  void Aggregate(const Context& context, const Block& block, std::span<const float> values, const float* x,
                 size_t width, std::span<const uint32_t> row_of, float* out);

  // C (m × n) = A (m × k, stride lda) · B (k × n); n padded.
  void Multiply(const Context& context, size_t m, size_t n, size_t k, const float* a, size_t lda,
                const float* b, float* c, bool relu) const;
  // C (k × n) = Aᵀ D, A (m × k, stride lda), D (m × n); n padded.
  void MultiplyTransposed(const Context& context, size_t m, size_t n, size_t k, const float* a, size_t lda,
                          const float* d, float* c);

  // C (rows × n) = picked rows of a sparse X times B (X.cols × n), and the gradient Xᵀ D (X.cols × n) of B.
  void MultiplySparse(const Context& context, const CsrMatrix& x, std::span<const uint32_t> rows, size_t n,
                      const float* b, float* c) const;
  void SparseGradient(const Context& context, const CsrMatrix& x, std::span<const uint32_t> rows, size_t n,
                      const float* d, float* out) const;

  // to (rows × width) = the picked rows of `from` (stride width).
  static void Gather(const Context& context, const float* from, size_t width, std::span<const uint32_t> rows,
                     float* to);

  const CpuKernels& kernels() const { return kernels_; }

 private:
  const CpuKernels& kernels_;
  std::vector<float> ones_, zeros_;  // scales the aggregation kernel wants, which blocks do not have
  std::vector<uint32_t> safe_rows_;  // row_of, made long enough for the kernel's own-row term
};

}  // namespace l2gcn
