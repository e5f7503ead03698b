// The kernels alone, on one thread and data that fits the caches a step leaves it in: each is first compared
// with a plain loop in double precision, then timed. Rates stand beside one thread's part of the ceiling.
#include "kernels/cpu/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "cases.h"
#include "core/clock.h"
#include "core/error_format.h"
#include "core/rng.h"
#include "problems.h"

namespace l2gcn::bench {
namespace {

constexpr double kTolerance = 1e-5;  // relative to the largest element

Array<float> RandomArray(size_t size, uint32_t name) {
  const RandomStream stream(2, RandomUse::kGenerator, name);
  Array<float> out = Array<float>::Allocate(size);
  for (size_t i = 0; i < size; ++i) out.mutable_data()[i] = 2 * stream.Uniform(i) - 1;
  return out;
}

// Fastest of many short runs: one that the system did not interrupt.
double BestSeconds(double budget, const std::function<void()>& body) {
  body();
  double best = 1e30;
  for (Stopwatch total; total.Seconds() < budget;) {
    const Stopwatch watch;
    body();
    best = std::min(best, watch.Seconds());
  }
  return best;
}

// Largest difference between a buffer (rows × cols, stride) and what `expected(i, j)` says, relative.
double Difference(const float* actual, size_t rows, size_t cols, size_t stride,
                  const std::function<double(size_t, size_t)>& expected) {
  double largest = 1e-30, worst = 0;
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < cols; ++j) {
      const double value = expected(i, j);
      largest = std::max(largest, std::abs(value));
      worst = std::max(worst, std::abs(value - static_cast<double>(actual[i * stride + j])));
    }
  }
  return worst / largest;
}

struct KernelBench {
  const Context& context;
  const Options& options;
  Report& report;
  const CpuKernels& kernels = CpuKernelTable();

  void Add(const std::string& name, double seconds, double flops, double bytes, double difference) const {
    if (!(difference <= kTolerance)) {
      ThrowRuntime("kernel {} differs from the plain loop by {:.1e} of its largest element", name,
                   difference);
    }
    // The ceilings are of all threads; a kernel runs on one.
    const double threads = context.threads;
    report.Add({"kernel", name, seconds, flops / seconds / 1e9 * threads, bytes / seconds / 1e9 * threads,
                fmt::format("one thread x {}, differs {:.0e}", context.threads, difference)});
  }

  // A panel of X̂ times W, and the gradient of half of W over a whole batch.
  void Products(const LayerProblem& p) const {
    const size_t rows = 512, batch = p.batch, half = std::max<size_t>(2, p.features / 2);
    const size_t lda = PadStride(p.features), ldb = PadStride(p.hidden), n = PadWidth(p.hidden);
    const Array<float> a = RandomArray(batch * lda, 1), b = RandomArray(p.features * ldb, 2),
                       d = RandomArray(batch * ldb, 3);
    Array<float> c = Array<float>::Zeros(std::max(rows, half) * ldb);
    const auto forward = [&] {
      for (size_t row = 0; row < rows; row += 64) {
        kernels.gemm(
            {64, n, p.features, a.data() + row * lda, lda, b.data(), ldb, c.mutable_data() + row * ldb, ldb});
      }
    };
    double seconds = BestSeconds(options.seconds / 4, forward);
    Add(fmt::format("product {}", p.name), seconds, 2.0 * rows * p.features * n, 0,
        Difference(c.data(), 64, n, ldb, [&](size_t i, size_t j) {
          double sum = 0;
          for (size_t k = 0; k < p.features; ++k) sum += double{a[i * lda + k]} * double{b[k * ldb + j]};
          return sum;
        }));
    seconds = BestSeconds(options.seconds / 4, [&] {
      kernels.gemm_transposed({half, n, batch, a.data(), lda, d.data(), ldb, c.mutable_data(), ldb});
    });
    Add(fmt::format("gradient {}", p.name), seconds, 2.0 * batch * half * n, 0,
        Difference(c.data(), std::min<size_t>(half, 16), n, ldb, [&](size_t i, size_t j) {
          double sum = 0;
          for (size_t k = 0; k < batch; ++k) sum += double{a[k * lda + i]} * double{d[k * ldb + j]};
          return sum;
        }));
  }

  // A batch of sparse rows times W, and its gradient.
  void SparseProducts(const LayerProblem& p) const {
    const CsrMatrix x = RandomFeatures(context, p.batch, p.features, p.density).csr();
    const size_t ld = PadStride(p.hidden), n = PadWidth(p.hidden);
    const Array<float> b = RandomArray(p.features * ld, 2), d = RandomArray(p.batch * ld, 3);
    Array<float> c = Array<float>::Zeros(std::max<size_t>(p.batch, p.features) * ld);
    std::vector<uint32_t> rows(p.batch), cuts(2 * p.batch);
    for (uint32_t i = 0; i < p.batch; ++i) {
      rows[i] = i;
      cuts[2 * i + 1] = static_cast<uint32_t>(x.indptr[i + 1] - x.indptr[i]);
    }
    const SparseRows picked{x.indptr.data(), x.indices.data(), x.values.data(), rows.data()};
    const double flops = 2.0 * static_cast<double>(x.nnz() * n);
    double seconds = BestSeconds(options.seconds / 4, [&] {
      kernels.sparse_gemm(p.batch, n, picked, b.data(), ld, c.mutable_data(), ld, false);
    });
    Add(fmt::format("sparse product {}", p.name), seconds, flops, 0,
        Difference(c.data(), p.batch, n, ld, [&](size_t i, size_t j) {
          double sum = 0;
          for (uint64_t e = x.indptr[i]; e < x.indptr[i + 1]; ++e) {
            sum += double{x.values[e]} * double{b[x.indices[e] * ld + j]};
          }
          return sum;
        }));
    const auto gradient = [&] {
      kernels.sparse_gemm_grad(p.batch, n, picked, cuts.data(), 2, d.data(), ld, c.mutable_data(), ld);
    };
    seconds = BestSeconds(options.seconds / 4, gradient);
    std::fill(c.mutable_data(), c.mutable_data() + c.size(), 0.0f);
    gradient();
    std::vector<double> expected(p.features * n, 0.0);
    for (size_t i = 0; i < p.batch; ++i)
      for (uint64_t e = x.indptr[i]; e < x.indptr[i + 1]; ++e)
        for (size_t j = 0; j < n; ++j)
          expected[x.indices[e] * n + j] += double{x.values[e]} * double{d[i * ld + j]};
    Add(fmt::format("sparse gradient {}", p.name), seconds, flops, 0,
        Difference(c.data(), p.features, n, ld, [&](size_t i, size_t j) { return expected[i * n + j]; }));
  }

  void Adam() const {
    constexpr size_t kCount = 32768;
    const Array<float> grad = RandomArray(kCount, 4), start = RandomArray(kCount, 5);
    auto w = Array<float>::CopyOf(start.span()), m = Array<float>::Zeros(kCount),
         v = Array<float>::Zeros(kCount);
    const AdamConstants constants{0.01f, 2.0f, 0.9f, 0.999f, 1e-8f, 0.0f};
    kernels.adam(kCount, grad.data(), w.mutable_data(), m.mutable_data(), v.mutable_data(), constants);
    const double difference = Difference(w.data(), 1, kCount, kCount, [&](size_t, size_t i) {
      const double g = grad[i];
      return start[i] - double{0.01f} * (0.1 * g) / (std::sqrt(1e-3 * g * g) * 2.0 + 1e-8);
    });
    const double seconds = BestSeconds(options.seconds / 4, [&] {
      kernels.adam(kCount, grad.data(), w.mutable_data(), m.mutable_data(), v.mutable_data(), constants);
    });
    Add("adam", seconds, 0, 7.0 * sizeof(float) * kCount, difference);
  }

  void Softmax(size_t classes) const {
    constexpr size_t kRows = 256;
    const size_t ld = PadStride(classes);
    const Array<float> logits = RandomArray(kRows * ld, 6);
    Array<float> z = Array<float>::Allocate(logits.size());
    std::vector<int32_t> target(kRows);
    for (size_t i = 0; i < kRows; ++i) target[i] = static_cast<int32_t>(i % classes);
    const auto run = [&] {
      std::copy(logits.begin(), logits.end(), z.mutable_data());
      kernels.softmax_loss(kRows, classes, ld, z.mutable_data(), target.data(), 1.0f, false);
    };
    const double seconds = BestSeconds(options.seconds / 4, run);
    Add(fmt::format("softmax loss of {} classes", classes), seconds, 0,
        2.0 * sizeof(float) * kRows * static_cast<double>(classes),
        Difference(z.data(), kRows, classes, ld, [&](size_t i, size_t j) {
          double sum = 0;
          for (size_t c = 0; c < classes; ++c) sum += std::exp(double{logits[i * ld + c]});
          return std::exp(double{logits[i * ld + j]}) / sum - (static_cast<int32_t>(j) == target[i] ? 1 : 0);
        }));
  }

  void Sigmoid(size_t classes) const {
    constexpr size_t kRows = 256;
    const size_t ld = PadStride(classes);
    const Array<float> logits = RandomArray(kRows * ld, 6);
    Array<float> z = Array<float>::Allocate(logits.size());
    const std::vector<uint8_t> on(classes, 1);
    const std::vector<const uint8_t*> target(kRows, on.data());
    const double seconds = BestSeconds(options.seconds / 4, [&] {
      std::copy(logits.begin(), logits.end(), z.mutable_data());
      kernels.sigmoid_loss(kRows, classes, ld, z.mutable_data(), target.data(), 1.0f, false);
    });
    Add(fmt::format("sigmoid loss of {} labels", classes), seconds, 0,
        2.0 * sizeof(float) * kRows * static_cast<double>(classes),
        Difference(z.data(), kRows, classes, ld,
                   [&](size_t i, size_t j) { return 1 / (1 + std::exp(-double{logits[i * ld + j]})) - 1; }));
  }
};

}  // namespace

void BenchKernels(const Context& context, const Options& options, Report& report) {
  const KernelBench bench{context, options, report};
  for (const LayerProblem& problem : LayerProblems()) {
    if (!options.Wants(problem.name)) continue;
    if (problem.density < 1) {
      bench.SparseProducts(problem);
    } else {
      bench.Products(problem);
    }
  }
  if (options.Wants("adam")) bench.Adam();
  if (options.Wants("softmax")) bench.Softmax(41);
  if (options.Wants("softmax")) bench.Softmax(7);
  if (options.Wants("sigmoid")) bench.Sigmoid(121);
}

}  // namespace l2gcn::bench
