#include "kernels/cpu/block_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/threads.h"
#include "kernels/cpu/kernels.h"
#include "kernels/norm_constants.h"

namespace l2gcn {
namespace {

static_assert(kBlockPad == kPad, "both count the floats of one cache line");

constexpr size_t kBlockRows = 64;          // rows of a product or a loss that one thread takes at a time
constexpr size_t kBlockGroup = 128;        // rows that are summed before groups are
constexpr size_t kBlockGatherGrain = 256;  // rows
constexpr size_t kBlockValues = 1 << 14;   // elementwise work that is worth a thread
constexpr uint64_t kBlockEdges = 8192;     // entries of an aggregation that are worth a thread

// Calls work(begin, end) for ranges of [0, count) that begin at multiples of kPad.
template <class Work>
void ForValues(const Context& context, size_t count, const Work& work) {
  ParallelFor(context, count / kPad, kBlockValues / kPad,
              [&](size_t from, size_t to) { work(from * kPad, to * kPad); });
}

class CpuBlockOps final : public BlockOps {
 public:
  CpuBlockOps() : kernels_(CpuKernelTable()) {}

  void Aggregate(const Context& context, const BlockView& block, const float* x, size_t width,
                 std::span<const uint32_t> row_of, float* out) override {
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
                             block.values.data(),
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
    const uint64_t entries = block.indices.size(), work = entries + block.rows;
    const size_t pieces = std::min<uint64_t>(context.threads * 16ull, work / kBlockEdges + 1);
    const auto boundary = [&](size_t piece) -> size_t {
      if (piece == pieces) return block.rows;
      const uint64_t wanted = entries / pieces * piece;
      return static_cast<size_t>(std::lower_bound(block.indptr.begin(), block.indptr.end() - 1, wanted) -
                                 block.indptr.begin());
    };
    ParallelTasks(context, pieces, [&](size_t piece, uint32_t) {
      kernels_.aggregate(args, piece == 0 ? 0 : boundary(piece), boundary(piece + 1));
    });
  }

  void Multiply(const Context& context, size_t m, size_t n, size_t k, const float* a, size_t lda,
                const float* b, float* c) const override {
    const size_t panels = (m + kBlockRows - 1) / kBlockRows;
    ParallelFor(context, panels, 1, [&](size_t begin, size_t end) {
      for (size_t panel = begin; panel < end; ++panel) {
        const size_t row = panel * kBlockRows;
        kernels_.gemm(
            {std::min(kBlockRows, m - row), n, k, a + row * lda, lda, b, n, c + row * n, n, Finish::kNone});
      }
    });
  }

  void MultiplyTransposed(const Context& context, size_t m, size_t n, size_t k, const float* a, size_t lda,
                          const float* d, float* c) const override {
    ParallelFor(context, k, 2, [&](size_t begin, size_t end) {
      kernels_.gemm_transposed({end - begin, n, m, a + begin, lda, d, n, c + begin * n, n});
    });
  }

  void MultiplySparse(const Context& context, const CsrMatrix& x, std::span<const uint32_t> rows, size_t n,
                      const float* b, float* c) const override {
    ParallelFor(context, rows.size(), kBlockRows, [&](size_t begin, size_t end) {
      const SparseRows picked{x.indptr.data(), x.indices.data(), x.values.data(), rows.data() + begin};
      kernels_.sparse_gemm(end - begin, n, picked, b, n, c + begin * n, n, false);
    });
  }

  void SparseGradient(const Context& context, const CsrMatrix& x, std::span<const uint32_t> rows, size_t n,
                      const float* d, float* out) const override {
    std::memset(out, 0, x.cols * n * sizeof(float));
    // Threads split the columns: several picked rows share a row of the gradient.
    ParallelFor(context, n / kPad, 1, [&](size_t begin, size_t end) {
      const SparseRows picked{x.indptr.data(), x.indices.data(), x.values.data(), rows.data()};
      kernels_.sparse_gemm_grad(rows.size(), (end - begin) * kPad, picked, nullptr, 0, d + begin * kPad, n,
                                out + begin * kPad, n);
    });
  }

  void Gather(const Context& context, const float* from, size_t width, std::span<const uint32_t> rows,
              float* to) const override {
    ParallelFor(context, rows.size(), kBlockGatherGrain, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        std::memcpy(to + i * width, from + rows[i] * width, width * sizeof(float));
      }
    });
  }

  double SoftmaxLoss(const Context& context, size_t m, size_t classes, size_t ld, float* logits,
                     const int32_t* target, const float* weights, float scale) const override {
    return SumPanels(context, m, [&](size_t row, size_t size) {
      return kernels_.softmax_loss(size, classes, ld, logits + row * ld, target + row, weights, scale, true);
    });
  }

  double SigmoidLoss(const Context& context, size_t m, size_t classes, size_t ld, float* logits,
                     const uint8_t* const* target, const float* weights, float scale) const override {
    return SumPanels(context, m, [&](size_t row, size_t size) {
      return kernels_.sigmoid_loss(size, classes, ld, logits + row * ld, target + row, weights, scale, true);
    });
  }

  void Activate(const Context& context, size_t count, float p, const RandomStream& stream, float* h,
                float* clean) const override {
    const auto threshold = static_cast<uint32_t>(std::lround(p * 65536.0f));
    const float scale = 1.0f / (1.0f - p);
    ForValues(context, count, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) h[i] = h[i] > 0 ? h[i] : 0;
      if (clean != nullptr) std::memcpy(clean + begin, h + begin, (end - begin) * sizeof(float));
      if (p > 0) kernels_.dropout(begin, end, stream.seed, stream.name, threshold, scale, h);
    });
  }

  void ReluGradient(const Context& context, size_t count, const float* h, float scale,
                    float* d) const override {
    ForValues(context, count, [&](size_t begin, size_t end) {
      kernels_.relu_grad(end - begin, h + begin, scale, d + begin);
    });
  }

  void Add(const Context& context, size_t count, const float* from, float* to) const override {
    ParallelFor(context, count, kBlockValues, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) to[i] += from[i];
    });
  }

  void AddBias(const Context& context, size_t rows, size_t width, const float* bias,
               float* x) const override {
    ParallelFor(context, rows, kBlockGatherGrain, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        for (size_t c = 0; c < width; ++c) x[i * width + c] += bias[c];
      }
    });
  }

  void NormRelu(const Context& context, const BlockNorm& norm, float* y, float* h) const override {
    const size_t width = norm.width;
    const bool by_row = norm.kind == HiddenNorm::kLayer;
    if (!by_row) Moments(context, norm, y);
    ParallelFor(context, norm.rows, kBlockRows, [&](size_t begin, size_t end) {
      const size_t at = begin * width, m = end - begin;
      if (by_row) {
        kernels_.norm_relu(m, norm.cols, width, norm.weight, norm.bias, y + at, norm.inverse + begin, h + at);
      } else {
        kernels_.batch_norm_relu(m, width, width, norm.moments, norm.inverse, norm.weight, norm.bias, y + at,
                                 h + at);
      }
    });
  }

  void ColumnSums(const Context& context, size_t rows, size_t width, const float* d, const float* y,
                  float* sums, float* products) const override {
    const size_t groups = (rows + kBlockGroup - 1) / kBlockGroup;
    std::vector<float> parts(groups * 2 * width);  // of each group, sums and then products
    ParallelFor(context, groups, 1, [&](size_t begin, size_t end) {
      for (size_t g = begin; g < end; ++g) {
        const size_t at = g * kBlockGroup * width;
        float* part = parts.data() + g * 2 * width;
        kernels_.column_sums(std::min(kBlockGroup, rows - g * kBlockGroup), width, width, d + at,
                             y != nullptr ? y + at : nullptr, part, part + width);
      }
    });
    kernels_.add_groups(width, groups, 2 * width, parts.data(), sums);
    if (y != nullptr) kernels_.add_groups(width, groups, 2 * width, parts.data() + width, products);
  }

  void NormGradient(const Context& context, const BlockNorm& norm, const float* y, const float* sums,
                    const float* products, float* d) const override {
    const size_t width = norm.width;
    // Of a batch norm: the factor of each column, the mean of d and that of d ∘ y.
    std::vector<float> slopes(norm.kind == HiddenNorm::kBatch ? 3 * width : 0);
    const float share = 1.0f / static_cast<float>(norm.rows);
    for (size_t c = 0; c < slopes.size() / 3; ++c) {
      slopes[c] = norm.weight[c] * norm.inverse[c];
      slopes[width + c] = sums[c] * share;
      slopes[2 * width + c] = products[c] * share;
    }
    ParallelFor(context, norm.rows, kBlockRows, [&](size_t begin, size_t end) {
      const size_t at = begin * width, m = end - begin;
      if (norm.kind == HiddenNorm::kLayer) {
        kernels_.norm_gradient(m, norm.cols, width, norm.weight, y + at, norm.inverse + begin, d + at);
      } else {
        kernels_.batch_norm_gradient(m, width, width, slopes.data(), y + at, d + at);
      }
    });
  }

  void Adam(const Context& context, size_t count, const float* grad, float* w, float* m, float* v,
            const BlockAdam& constants) const override {
    const AdamConstants adam{constants.step_size, constants.inverse_sqrt_bc2, constants.beta1,
                             constants.beta2,     constants.epsilon,          constants.weight_decay};
    ForValues(context, count, [&](size_t begin, size_t end) {
      kernels_.adam(end - begin, grad + begin, w + begin, m + begin, v + begin, adam);
    });
  }

 private:
  // Mean and variance of the columns, and what follows from them: those of groups of rows, combined in order (Chan, Golub
  // and LeVeque, 1983).
  void Moments(const Context& context, const BlockNorm& norm, const float* y) const {
    const size_t width = norm.width, groups = (norm.rows + kBlockGroup - 1) / kBlockGroup;
    std::vector<float> parts(groups * 2 * width);
    ParallelFor(context, groups, 1, [&](size_t begin, size_t end) {
      for (size_t g = begin; g < end; ++g) {
        float* mean = parts.data() + g * 2 * width;
        const size_t row = g * kBlockGroup;
        kernels_.column_moments(std::min(kBlockGroup, norm.rows - row), width, width, y + row * width, mean,
                                mean + width);
      }
    });
    std::vector<double> means(width, 0.0), squares(width, 0.0);
    for (size_t g = 0; g < groups; ++g) {
      const auto before = static_cast<double>(g * kBlockGroup);
      const auto size = static_cast<double>(std::min(kBlockGroup, norm.rows - g * kBlockGroup));
      const float* mean = parts.data() + g * 2 * width;
      for (size_t c = 0; c < width; ++c) {
        const double off = static_cast<double>(mean[c]) - means[c];
        means[c] += off * size / (before + size);
        squares[c] += static_cast<double>(mean[width + c]) + off * off * before * size / (before + size);
      }
    }
    for (size_t c = 0; c < width; ++c) {
      const double variance = squares[c] / static_cast<double>(norm.rows);
      norm.moments[c] = static_cast<float>(means[c]);
      norm.moments[width + c] = static_cast<float>(variance);
      // NaN where the squares overflow
      norm.inverse[c] = static_cast<float>(1 / std::sqrt(variance + double{kNormEpsilon}) + variance * 0);
    }
  }

  // The sum of loss(first row, rows) over panels of rows, in their order.
  template <class Loss>
  double SumPanels(const Context& context, size_t m, const Loss& loss) const {
    const size_t panels = (m + kBlockRows - 1) / kBlockRows;
    std::vector<double> losses(panels, 0.0);
    ParallelFor(context, panels, 1, [&](size_t begin, size_t end) {
      for (size_t panel = begin; panel < end; ++panel) {
        const size_t row = panel * kBlockRows;
        losses[panel] = loss(row, std::min(kBlockRows, m - row));
      }
    });
    double sum = 0;
    for (double one : losses) sum += one;
    return sum;
  }

  const CpuKernels& kernels_;
  std::vector<float> ones_, zeros_;  // scales that the aggregation kernel wants and blocks do not have
  std::vector<uint32_t> safe_rows_;  // row_of, made long enough for the kernel's own-row term
};

}  // namespace

std::unique_ptr<BlockOps> MakeCpuBlockOps() { return std::make_unique<CpuBlockOps>(); }

}  // namespace l2gcn
