#include "train/block_math.h"

#include <algorithm>
#include <cstring>

#include "core/threads.h"

namespace l2gcn {
namespace {

constexpr size_t kGatherGrain = 256;
constexpr uint64_t kEdgesPerPiece = 8192;

}  // namespace

void BlockMath::Aggregate(const Context& context, const Block& block, std::span<const float> values,
                          const float* x, size_t width, std::span<const uint32_t> row_of, float* out) {
  if (block.rows == 0) return;
  if (ones_.size() < block.rows) ones_.resize(block.rows, 1.0f), zeros_.resize(block.rows, 0.0f);
  const uint32_t* rows = row_of.empty() ? nullptr : row_of.data();
  // The kernel also reads the row of x that stands for the destination, times 0: it must be there.
  if (block.cols < block.rows) {
    safe_rows_.assign(block.rows, row_of.empty() ? 0 : row_of[0]);
    for (uint32_t j = 0; j < block.cols; ++j) safe_rows_[j] = row_of.empty() ? j : row_of[j];
    rows = safe_rows_.data();
  }
  if (block.cols == 0) {
    std::memset(out, 0, block.rows * width * sizeof(float));
    return;
  }
  const AggregateArgs args{block.rows,
                           block.indptr.data(),
                           block.indices.data(),
                           values.data(),
                           ones_.data(),
                           nullptr,
                           zeros_.data(),
                           rows,
                           x,
                           width,
                           out,
                           0,
                           width,
                           width,
                           FeatureType::kF32};
  const uint64_t work = block.entries() + block.rows;
  const size_t pieces = std::min<uint64_t>(context.threads * 16ull, work / kEdgesPerPiece + 1);
  const auto boundary = [&](size_t piece) -> size_t {
    if (piece == pieces) return block.rows;
    const uint64_t wanted = block.entries() / pieces * piece;
    return static_cast<size_t>(std::lower_bound(block.indptr.begin(), block.indptr.end() - 1, wanted) -
                               block.indptr.begin());
  };
  ParallelTasks(context, pieces, [&](size_t piece, uint32_t) {
    kernels_.aggregate(args, piece == 0 ? 0 : boundary(piece), boundary(piece + 1));
  });
}

void BlockMath::Multiply(const Context& context, size_t m, size_t n, size_t k, const float* a, size_t lda,
                         const float* b, float* c, bool relu) const {
  const size_t panels = (m + kRowPanel - 1) / kRowPanel;
  ParallelFor(context, panels, 1, [&](size_t begin, size_t end) {
    for (size_t panel = begin; panel < end; ++panel) {
      const size_t row = panel * kRowPanel;
      kernels_.gemm({std::min(kRowPanel, m - row), n, k, a + row * lda, lda, b, n, c + row * n, n,
                     relu ? Finish::kRelu : Finish::kNone});
    }
  });
}

void BlockMath::MultiplyTransposed(const Context& context, size_t m, size_t n, size_t k, const float* a,
                                   size_t lda, const float* d, float* c) {
  ParallelFor(context, k, 2, [&](size_t begin, size_t end) {
    kernels_.gemm_transposed({end - begin, n, m, a + begin, lda, d, n, c + begin * n, n});
  });
}

void BlockMath::MultiplySparse(const Context& context, const CsrMatrix& x, std::span<const uint32_t> rows,
                               size_t n, const float* b, float* c) const {
  ParallelFor(context, rows.size(), kRowPanel, [&](size_t begin, size_t end) {
    const SparseRows picked{x.indptr.data(), x.indices.data(), x.values.data(), rows.data() + begin};
    kernels_.sparse_gemm(end - begin, n, picked, b, n, c + begin * n, n, false);
  });
}

void BlockMath::SparseGradient(const Context& context, const CsrMatrix& x, std::span<const uint32_t> rows,
                               size_t n, const float* d, float* out) const {
  std::memset(out, 0, x.cols * n * sizeof(float));
  // Threads split the columns: several picked rows share a row of the gradient.
  ParallelFor(context, n / kPad, 1, [&](size_t begin, size_t end) {
    const SparseRows picked{x.indptr.data(), x.indices.data(), x.values.data(), rows.data()};
    kernels_.sparse_gemm_grad(rows.size(), (end - begin) * kPad, picked, nullptr, 0, d + begin * kPad, n,
                              out + begin * kPad, n);
  });
}

void BlockMath::Gather(const Context& context, const float* from, size_t width,
                       std::span<const uint32_t> rows, float* to) {
  ParallelFor(context, rows.size(), kGatherGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      std::memcpy(to + i * width, from + rows[i] * width, width * sizeof(float));
    }
  });
}

}  // namespace l2gcn
