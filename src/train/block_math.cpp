#include "train/block_math.h"

#include <algorithm>
#include <cstring>

#include "core/threads.h"

namespace l2gcn {
namespace {

constexpr size_t kPanel = 64;       // rows of a product one thread takes at a time
constexpr size_t kGradRows = 48;    // rows of a transposed product made at a time
constexpr size_t kGradChunk = 768;  // terms of its sums between two additions: the chunk of D stays in cache
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
  const AggregateArgs args{block.indptr.data(),
                           block.indices.data(),
                           values.data(),
                           ones_.data(),
                           nullptr,
                           zeros_.data(),
                           rows,
                           x,
                           out,
                           width};
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
  const size_t panels = (m + kPanel - 1) / kPanel;
  ParallelFor(context, panels, 1, [&](size_t begin, size_t end) {
    for (size_t panel = begin; panel < end; ++panel) {
      const size_t row = panel * kPanel;
      kernels_.gemm(std::min(kPanel, m - row), n, k, a + row * lda, lda, 1, b, n, c + row * n, n, relu);
    }
  });
}

void BlockMath::MultiplyTransposed(const Context& context, size_t m, size_t n, size_t k, const float* a,
                                   size_t lda, const float* d, float* c) {
  sums_.resize(std::max<size_t>(sums_.size(), context.threads));
  const size_t pieces = (k + kGradRows - 1) / kGradRows;
  const auto workers = static_cast<uint32_t>(std::min<size_t>(pieces, context.threads));
  context.pool->Run(workers, [&](uint32_t worker) {
    std::vector<float>& sum = sums_[worker];
    sum.resize(std::max(sum.size(), kGradRows * n));
    const size_t first = pieces * worker / workers, last = pieces * (worker + 1) / workers;
    for (size_t from = 0; from < m || from == 0; from += kGradChunk) {
      const size_t terms = std::min(kGradChunk, m - from);
      for (size_t piece = first; piece < last; ++piece) {
        const size_t row = piece * kGradRows, rows = std::min(kGradRows, k - row);
        float* out = c + row * n;
        float* target = from == 0 ? out : sum.data();
        kernels_.gemm(rows, n, terms, a + from * lda + row, 1, lda, d + from * n, n, target, n, false);
        for (size_t i = 0; from > 0 && i < rows * n; ++i) out[i] += target[i];
      }
    }
  });
}

void BlockMath::MultiplySparse(const Context& context, const CsrMatrix& x, std::span<const uint32_t> rows,
                               size_t n, const float* b, float* c) const {
  ParallelFor(context, rows.size(), kPanel, [&](size_t begin, size_t end) {
    kernels_.sparse_gemm(end - begin, n, x.indptr.data(), x.indices.data(), x.values.data(),
                         rows.data() + begin, b, n, c + begin * n, n, false);
  });
}

void BlockMath::SparseGradient(const Context& context, const CsrMatrix& x, std::span<const uint32_t> rows,
                               size_t n, const float* d, float* out) const {
  std::memset(out, 0, x.cols * n * sizeof(float));
  // Threads split the columns: several picked rows share a row of the gradient.
  ParallelFor(context, n / kPad, 1, [&](size_t begin, size_t end) {
    kernels_.sparse_gemm_grad(rows.size(), begin * kPad, end * kPad, x.indptr.data(), x.indices.data(),
                              x.values.data(), rows.data(), d, n, out, n);
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
