// The arithmetic of conventional training, in the operations of block_network.h: products with sampled blocks and
// with weights, activations, losses and updates. Trainers know this face alone; MakeBlockOps (dispatch.cpp)
// picks the device behind it. Today that is the CPU.
//
// Dense buffers are row-major; widths of weights, activations and gradients are padded to kBlockPad with
// zeros. Work is split between threads by outputs and no sum is ever shared, so results do not depend on the
// thread count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "l2gcn/array.h"
#include "l2gcn/context.h"

namespace l2gcn {

inline constexpr size_t kBlockPad = 16;
inline constexpr size_t BlockWidth(size_t n) { return (n + kBlockPad - 1) / kBlockPad * kBlockPad; }

// A sparse matrix of a step: rows are destinations, columns are positions in the list of sources.
struct BlockView {
  uint32_t rows = 0, cols = 0;
  std::span<const uint64_t> indptr;   // (rows + 1)
  std::span<const uint32_t> indices;  // (entries)
  std::span<const float> values;      // (entries)
};

// Adam's constants in step t: see kernels/backend.h.
struct BlockAdam {
  float step_size;         // lr / (1 − β₁ᵗ)
  float inverse_sqrt_bc2;  // 1 / √(1 − β₂ᵗ)
  float beta1, beta2, epsilon, weight_decay;
};

class BlockOps {
 public:
  virtual ~BlockOps() = default;

  // out (block.rows × width) = B x; x has stride width, and its row j is row row_of[j] of the buffer (empty:
  // row j).
  virtual void Aggregate(const Context& context, const BlockView& block, const float* x, size_t width,
                         std::span<const uint32_t> row_of, float* out) = 0;

  // C (m × n) = A (m × k, stride lda) · B (k × n); n padded.
  virtual void Multiply(const Context& context, size_t m, size_t n, size_t k, const float* a, size_t lda,
                        const float* b, float* c) const = 0;
  // C (k × n) = Aᵀ D, A (m × k, stride lda), D (m × n); n padded.
  virtual void MultiplyTransposed(const Context& context, size_t m, size_t n, size_t k, const float* a,
                                  size_t lda, const float* d, float* c) const = 0;

  // C (rows × n) = picked rows of a sparse X times B (X.cols × n), and the gradient Xᵀ D (X.cols × n) of B.
  virtual void MultiplySparse(const Context& context, const CsrMatrix& x, std::span<const uint32_t> rows,
                              size_t n, const float* b, float* c) const = 0;
  virtual void SparseGradient(const Context& context, const CsrMatrix& x, std::span<const uint32_t> rows,
                              size_t n, const float* d, float* out) const = 0;

  // to (rows × width) = the picked rows of `from` (stride width).
  virtual void Gather(const Context& context, const float* from, size_t width, std::span<const uint32_t> rows,
                      float* to) const = 0;

  // Softmax cross entropy of logits (m × classes, stride ld): returns the summed loss and replaces the logits
  // by scale · ∂loss/∂logits, 0 in padding columns. target (m) holds classes; weights (ld) of the classes, or
  // null: all count the same.
  virtual double SoftmaxLoss(const Context& context, size_t m, size_t classes, size_t ld, float* logits,
                             const int32_t* target, const float* weights, float scale) const = 0;
  // Sigmoid cross entropy, summed over entries; target[i] is a row of `classes` 0/1.
  virtual double SigmoidLoss(const Context& context, size_t m, size_t classes, size_t ld, float* logits,
                             const uint8_t* const* target, const float* weights, float scale) const = 0;

  // d ← scale · d where h > 0, else 0: the gradient through ReLU and through dropout, which left zeros in h.
  // `count` is a multiple of kBlockPad, here and below.
  virtual void ReluGradient(const Context& context, size_t count, const float* h, float scale,
                            float* d) const = 0;
  virtual void Add(const Context& context, size_t count, const float* from, float* to) const = 0;
  virtual void Adam(const Context& context, size_t count, const float* grad, float* w, float* m, float* v,
                    const BlockAdam& constants) const = 0;
};

// The operations of context.device. Throws Error(kUsage) for a device that has none.
std::unique_ptr<BlockOps> MakeBlockOps(const Context& context);

}  // namespace l2gcn
