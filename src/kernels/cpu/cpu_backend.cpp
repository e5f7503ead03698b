#include "kernels/cpu/cpu_backend.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/error_format.h"
#include "core/threads.h"
#include "kernels/cpu/aggregate.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/layer_training.h"

namespace l2gcn {
namespace {

// X̂ stays sparse up to this share of non-zeros: beyond it the dense kernels' arithmetic is cheaper than the
// sparse ones' indirection.
constexpr double kSparseDensity = 0.35;
constexpr size_t kRowGrain = 64;

struct CpuTensor final : Tensor {
  Matrix dense;
  CsrMatrix csr;

  explicit CpuTensor(Matrix matrix) : dense(std::move(matrix)) {
    rows = dense.rows;
    cols = dense.cols;
    bytes = dense.bytes();
  }
  explicit CpuTensor(CsrMatrix matrix) : csr(std::move(matrix)) {
    rows = csr.rows;
    cols = csr.cols;
    sparse = true;
    bytes = csr.bytes();
  }
};

struct CpuGraph final : DeviceGraph {
  Propagation propagation;
};

const CpuTensor& AsCpu(const Tensor& tensor) { return static_cast<const CpuTensor&>(tensor); }

// W (k × n) with rows padded to a multiple of kPad.
Array<float> PadColumns(const Matrix& w) {
  const size_t width = PadWidth(w.cols);
  Array<float> padded = Array<float>::Zeros(w.rows * width);
  for (size_t i = 0; i < w.rows; ++i) {
    std::memcpy(padded.mutable_data() + i * width, w.row(i), w.cols * sizeof(float));
  }
  return padded;
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const BackendOptions& options) : options_(options), kernels_(CpuKernelTable()) {
    explanation_ = fmt::format("cpu kernels: {}", kernels_.name);
  }

  TensorPtr Upload(const Context&, const Features& features) override {
    if (features.is_sparse) return std::make_shared<CpuTensor>(features.sparse);
    return std::make_shared<CpuTensor>(features.dense);
  }

  DeviceGraphPtr Upload(const Context&, const Propagation& propagation) override {
    auto graph = std::make_shared<CpuGraph>();
    graph->propagation = propagation;
    graph->nodes = propagation.nodes;
    graph->entries = propagation.entries();
    return graph;
  }

  TensorPtr Aggregate(const Context& context, const DeviceGraph& graph, const Tensor& x,
                      std::span<const uint32_t> row_of_node) override {
    const Propagation& a = static_cast<const CpuGraph&>(graph).propagation;
    const CpuTensor& input = AsCpu(x);
    if (!input.sparse) {
      return std::make_shared<CpuTensor>(AggregateDense(context, kernels_, a, input.dense, row_of_node));
    }
    Array<uint64_t> offsets;
    double density = 1;
    if (options_.sparse != SparseChoice::kNever) {
      offsets = AggregatedOffsets(context, a, input.csr, row_of_node);
      density = static_cast<double>(offsets[a.nodes]) /
                (static_cast<double>(a.nodes) * static_cast<double>(x.cols));
    }
    const bool keep = options_.sparse == SparseChoice::kAlways ||
                      (options_.sparse == SparseChoice::kAuto && density <= kSparseDensity);
    explanation_ = fmt::format("cpu kernels: {}; layer 1 {} (aggregated features {:.1f} % non-zero)",
                               kernels_.name, keep ? "sparse" : "dense", 100 * density);
    if (!keep) return std::make_shared<CpuTensor>(AggregateSparseToDense(context, a, input.csr, row_of_node));
    return std::make_shared<CpuTensor>(
        AggregateSparse(context, a, input.csr, row_of_node, std::move(offsets)));
  }

  TensorPtr Transform(const Context& context, const Tensor& x, const Matrix& w) override {
    return std::make_shared<CpuTensor>(Multiply(context, AsCpu(x), w, {}, true));
  }

  TensorPtr Forward(const Context& context, const DeviceGraph& graph, const Tensor& x,
                    const Matrix& w) override {
    if (w.rows == 0) return Aggregate(context, graph, x, {});
    if (x.cols <= w.cols) return Transform(context, *Aggregate(context, graph, x, {}), w);
    const CpuTensor narrow(Multiply(context, AsCpu(x), w, {}, false));
    Matrix out =
        AggregateDense(context, kernels_, static_cast<const CpuGraph&>(graph).propagation, narrow.dense, {});
    float* values = out.values.mutable_data();
    ParallelFor(context, out.values.size(), 1 << 16, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) values[i] = values[i] > 0 ? values[i] : 0;
    });
    return std::make_shared<CpuTensor>(std::move(out));
  }

  Matrix Logits(const Context& context, const Tensor& x, const Matrix& theta,
                std::span<const uint32_t> rows) override {
    return Multiply(context, AsCpu(x), theta, rows, false);
  }

  Matrix Download(const Context& context, const Tensor& x) override {
    const CpuTensor& input = AsCpu(x);
    if (!input.sparse) return input.dense;
    Matrix out = Matrix::Zeros(x.rows, x.cols);
    ParallelFor(context, x.rows, kRowGrain, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        for (uint64_t e = input.csr.indptr[i]; e < input.csr.indptr[i + 1]; ++e) {
          out.mutable_row(i)[input.csr.indices[e]] = input.csr.values[e];
        }
      }
    });
    return out;
  }

  std::unique_ptr<LayerTraining> BeginLayer(const Context&, TensorPtr xhat, Array<uint32_t> samples,
                                            const Targets& targets, const LayerSpec& spec,
                                            const LayerState& start) override {
    const CpuTensor& input = AsCpu(*xhat);
    return MakeCpuLayerTraining(kernels_, {input.sparse, input.dense, input.csr}, std::move(samples), targets,
                                spec, start);
  }

  std::string Explain() const override { return explanation_; }

 private:
  // Rows of X·W (all, or those named), cut into blocks so that the padded product stays in cache.
  Matrix Multiply(const Context& context, const CpuTensor& x, const Matrix& w, std::span<const uint32_t> rows,
                  bool relu) const {
    L2GCN_ASSERT(x.cols == w.rows);
    const size_t count = rows.empty() ? x.rows : rows.size();
    const size_t width = PadWidth(w.cols);
    const Array<float> padded = PadColumns(w);  // (k × width)
    Matrix out = Matrix::Allocate(count, w.cols);
    ParallelFor(context, count, kRowGrain, [&](size_t begin, size_t end) {
      Array<float> block = Array<float>::Allocate(kRowGrain * width);  // (kRowGrain × width)
      uint32_t picked[kRowGrain];
      for (size_t from = begin; from < end; from += kRowGrain) {
        const size_t size = std::min(kRowGrain, end - from);
        for (size_t i = 0; i < size; ++i)
          picked[i] = rows.empty() ? static_cast<uint32_t>(from + i) : rows[from + i];
        MultiplyBlock(x, padded, width, picked, size, rows.empty(), relu, block.mutable_data());
        for (size_t i = 0; i < size; ++i) {
          std::memcpy(out.mutable_row(from + i), block.data() + i * width, w.cols * sizeof(float));
        }
      }
    });
    return out;
  }

  void MultiplyBlock(const CpuTensor& x, const Array<float>& w, size_t width, const uint32_t* picked,
                     size_t size, bool contiguous, bool relu, float* out) const {
    if (x.sparse) {
      kernels_.sparse_gemm(size, width, x.csr.indptr.data(), x.csr.indices.data(), x.csr.values.data(),
                           picked, w.data(), width, out, width, relu);
    } else if (contiguous) {
      kernels_.gemm(size, width, x.cols, x.dense.row(picked[0]), x.cols, 1, w.data(), width, out, width,
                    relu);
    } else {
      for (size_t i = 0; i < size; ++i) {
        kernels_.gemm(1, width, x.cols, x.dense.row(picked[i]), x.cols, 1, w.data(), width, out + i * width,
                      width, relu);
      }
    }
  }

  BackendOptions options_;
  const CpuKernels& kernels_;
  std::string explanation_;
};

}  // namespace

std::unique_ptr<Backend> MakeCpuBackend(const BackendOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

}  // namespace l2gcn
