#include "kernels/cpu/cpu_backend.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>

#include "core/error_format.h"
#include "core/row_preparation.h"
#include "core/threads.h"
#include "kernels/checked_cast.h"
#include "kernels/cpu/aggregate.h"
#include "kernels/cpu/fused_step.h"
#include "kernels/cpu/general_step.h"
#include "kernels/cpu/input_blocks.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/layer_training.h"
#include "kernels/cpu/matrix_memory.h"
#include "kernels/cpu/padded_weights.h"
#include "kernels/cpu/row_products.h"
#include "kernels/cpu/scoring.h"
#include "kernels/cpu/stored_matrix.h"
#include "kernels/sparse_density.h"

namespace l2gcn {
namespace {

struct CpuTensor final : Tensor {
  StoredMatrix stored;

  explicit CpuTensor(StoredMatrix matrix) : stored(std::move(matrix)) {
    rows = stored.rows;
    cols = stored.cols;
    sparse = stored.is_sparse;
    if (sparse) nonzeros = stored.sparse.nnz();
    bytes = stored.bytes();
  }
};

struct CpuGraph final : DeviceGraph {
  Propagation propagation;
};

const StoredMatrix& AsStored(const Tensor& tensor) { return CheckedCast<CpuTensor>(tensor).stored; }
const Propagation& AsOperator(const DeviceGraph& graph) { return CheckedCast<CpuGraph>(graph).propagation; }
TensorPtr MakeTensor(StoredMatrix matrix) { return std::make_shared<CpuTensor>(std::move(matrix)); }

const char* NameOf(FeatureType type) {
  return type == FeatureType::kF32 ? "f32" : type == FeatureType::kF16 ? "f16" : "bf16";
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(const BackendOptions& options, std::shared_ptr<DiskMemory> disk)
      : options_(options), kernels_(CpuKernelTable(options.precision)), memory_(std::move(disk)) {
    explanation_ =
        fmt::format("cpu kernels: {}, features in {}", kernels_.name, NameOf(options_.features_as));
  }

  // Dense features stay where they lie, in the type they have, and are prepared as they are read. They are
  // read here only where another type was asked for, or where reading a row again would cost too much.
  TensorPtr Upload(const Context& context, const Features& features) override {
    if (features.is_sparse()) {
      auto tensor = std::make_shared<CpuTensor>(StoredMatrix(features.ToCsr(context)));
      tensor->shares_features = features.preparation() == nullptr;
      return tensor;
    }
    const RowPreparation* preparation = features.preparation();
    // A projection, or an expanded sparse row, would be computed for every neighbour again; rows narrower
    // than a vector are not worth a kernel that prepares them.
    const bool cheap =
        preparation == nullptr || (preparation->projection.rows == 0 && features.cols() >= kPad);
    const bool lies_dense = !features.stores_sparse();
    const FeatureType wanted = options_.features_as;
    const bool fits = wanted == FeatureType::kF32 || (preparation == nullptr && features.type() == wanted);
    const bool shares = cheap && lies_dense && fits;
    auto tensor = std::make_shared<CpuTensor>(shares ? StoredMatrix(features) : ReadWhole(context, features));
    tensor->shares_features = shares;
    return tensor;
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
    const Propagation& a = AsOperator(graph);
    const StoredMatrix& input = AsStored(x);
    if (!input.is_sparse) {
      return MakeTensor(
          AggregateDense(context, kernels_, memory_, a, input, row_of_node, options_.features_as));
    }
    const double all = static_cast<double>(a.nodes) * static_cast<double>(x.cols),
                 limit = SparseDensityOf(DeviceKind::kCpu);
    Array<uint64_t> offsets;
    if (options_.sparse != Choice::kOff) {
      const bool always = options_.sparse == Choice::kOn;
      offsets = AggregatedOffsets(context, a, input.sparse, row_of_node,
                                  static_cast<uint64_t>(always ? all : limit * all));
    }
    const bool keep = !offsets.empty();
    explanation_ = fmt::format("cpu kernels: {}; layer 1 {}", kernels_.name, keep ? "sparse" : "dense");
    if (keep) {
      explanation_ += fmt::format(" (aggregated features {:.1f} % non-zero)",
                                  100 * static_cast<double>(offsets[a.nodes]) / all);
    } else if (options_.sparse == Choice::kAuto) {
      explanation_ += fmt::format(" (aggregated features more than {:.0f} % non-zero)", 100 * limit);
    }
    if (keep) {
      return MakeTensor(
          StoredMatrix(AggregateSparse(context, memory_, a, input.sparse, row_of_node, std::move(offsets))));
    }
    return MakeTensor(
        Narrowed(context, AggregateSparseToDense(context, memory_, a, input.sparse, row_of_node)));
  }

  LayerInput MergeSparse(LayerInput x) override {
    const auto end =
        std::find_if(x.blocks.begin(), x.blocks.end(), [](const auto& block) { return !block->sparse; });
    if (end - x.blocks.begin() < 2) return x;
    std::vector<const CsrMatrix*> sparse;
    for (auto block = x.blocks.begin(); block != end; ++block) sparse.push_back(&AsStored(**block).sparse);
    LayerInput merged = MakeTensor(StoredMatrix(ConcatenateSparse(sparse)));
    merged.blocks.insert(merged.blocks.end(), end, x.blocks.end());
    return merged;
  }

  TensorPtr PickRows(const Context& context, const Tensor& x, std::span<const uint32_t> rows) override {
    const StoredMatrix& stored = AsStored(x);
    if (stored.is_sparse) return MakeTensor(StoredMatrix(SparseRowsOf(stored.sparse, rows)));
    return MakeTensor(Narrowed(context, Download(context, x, rows)));
  }

  TensorPtr Transform(const Context& context, const LayerInput& x, const HiddenParameters& hidden,
                      std::span<const uint32_t> rows) override {
    if (hidden.basic() && x.blocks.size() == 1) {
      const PaddedWeights weight(hidden.weight, {}, {}, hidden.weight.rows);
      return MakeTensor(
          Narrowed(context, Multiply(context, InputBlocks(AsStored(*x.blocks.front())), weight, rows, true)));
    }
    const PaddedHidden padded(hidden);
    const CpuHidden layer = padded.view();
    return MakeTensor(
        Narrowed(context, Multiply(context, BlocksOf(context, x), *layer.weight, rows, false, &layer)));
  }

  Matrix Logits(const Context& context, const Tensor& x, const Matrix& theta,
                std::span<const uint32_t> rows) override {
    const PaddedWeights weights(theta, {}, {}, theta.rows);
    return Multiply(context, InputBlocks(AsStored(x)), weights, rows, false);
  }

  Matrix Download(const Context& context, const Tensor& x, std::span<const uint32_t> rows) override {
    const StoredMatrix& input = AsStored(x);
    const bool as_it_is = !input.is_sparse && input.type == FeatureType::kF32 && !input.prepared();
    if (rows.empty() && as_it_is) return input.dense;
    const size_t count = rows.empty() ? x.rows : rows.size();
    Matrix out = memory_.NewMatrix(count, x.cols);
    float* values = out.values.mutable_data();
    ParallelFor(context, count, kProductRows, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i)
        CopyRow(input, rows.empty() ? static_cast<uint32_t>(i) : rows[i], values + i * x.cols);
    });
    return out;
  }

  Features DownloadFeatures(const Context& context, const Tensor& x) override {
    const StoredMatrix& stored = AsStored(x);
    return stored.is_sparse ? Features::Sparse(stored.sparse) : Features::Dense(Download(context, x, {}));
  }

  Features DownloadStored(const Context& context, const Tensor& x) override {
    const StoredMatrix& stored = AsStored(x);
    if (stored.is_sparse || stored.type == FeatureType::kF32 || stored.prepared())
      return DownloadFeatures(context, x);
    return Features::Stored(stored.type, stored.halves, stored.rows, stored.cols);
  }

  void ReadRows(const Context& context, const Tensor& x, size_t first, size_t count, float* out) override {
    const StoredMatrix& input = AsStored(x);
    L2GCN_ASSERT(first + count <= input.rows);
    ParallelFor(context, count, kProductRows, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) CopyRow(input, static_cast<uint32_t>(first + i), out + i * x.cols);
    });
  }

  // Training reads rows again and again, so those that nothing was done to yet are prepared now.
  std::unique_ptr<LayerTraining> BeginLayer(const Context& context, const LayerInput& xhat,
                                            Array<uint32_t> samples, const Targets& targets,
                                            const LayerSpec& spec, const LayerState& start) override {
    InputBlocks input = BlocksOf(context, xhat);
    for (StoredMatrix& part : input.dense) {
      if (part.prepared()) part = ReadWhole(context, part.source);
    }
    const bool fused = spec.architecture.basic() && xhat.blocks.size() == 1;
    auto step = fused ? MakeFusedStep(kernels_, input.single(), std::move(samples), targets, spec, start)
                      : MakeGeneralStep(kernels_, std::move(input), std::move(samples), targets, spec, start);
    return std::make_unique<CpuLayerTraining>(std::move(step), spec);
  }

  std::shared_ptr<const RowsToScore> PrepareScoring(const Context& context, const LayerInput& x,
                                                    Array<uint32_t> rows, const Targets& targets,
                                                    bool margins) override {
    auto prepared = std::make_shared<CpuRowsToScore>(BlocksOf(context, x), std::move(rows), targets);
    prepared->margins = margins;
    return prepared;
  }
  RowScores Score(const Context& context, const LayerTraining& training, const RowsToScore& rows) override {
    return ScoreRows(context, kernels_, CheckedCast<CpuLayerTraining>(training).Weights(),
                     CheckedCast<CpuRowsToScore>(rows));
  }
  RowScores Score(const Context& context, const Matrix& theta, const RowsToScore& rows) override {
    const PaddedWeights weights(theta, {}, {}, theta.rows);
    return ScoreRows(context, kernels_, {{}, {}, weights}, CheckedCast<CpuRowsToScore>(rows));
  }

  void ReleaseSpareMemory() override { memory_.ReleaseSpare(); }

  std::string Explain() const override { return explanation_; }

 protected:
  TensorPtr AggregateTransform(const Context& context, const DeviceGraph& graph, const Tensor& x,
                               const Matrix& w) override {
    if (x.sparse) return Backend::AggregateTransform(context, graph, x, w);
    return MakeTensor(Narrowed(context, AggregateAndMultiply(context, AsOperator(graph), AsStored(x), w)));
  }
  TensorPtr TransformAggregate(const Context& context, const DeviceGraph& graph, const Tensor& x,
                               const Matrix& w) override {
    const PaddedWeights weights(w, {}, {}, w.rows);
    const StoredMatrix narrow(Multiply(context, InputBlocks(AsStored(x)), weights, {}, false));
    Matrix out = AggregateDense(context, kernels_, memory_, AsOperator(graph), narrow, {}).dense;
    float* values = out.values.mutable_data();
    ParallelFor(context, out.values.size(), 1 << 16, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) values[i] = values[i] <= 0 ? 0 : values[i];
    });
    return MakeTensor(Narrowed(context, std::move(out)));
  }

 private:
  // A layer's input as its kernels read it: the sparse blocks as one sparse matrix, then the dense ones. A sparse block
  // behind a dense one is unpacked.
  InputBlocks BlocksOf(const Context& context, const LayerInput& x) {
    InputBlocks input;
    input.rows = x.rows();
    input.cols = x.cols();
    for (const TensorPtr& block : MergeSparse(x).blocks) {
      L2GCN_ASSERT(block->rows == input.rows);
      const StoredMatrix& stored = AsStored(*block);
      if (!stored.is_sparse) {
        input.dense.push_back(stored);
      } else if (input.dense.empty()) {
        input.sparse = stored.sparse;
      } else {
        input.dense.emplace_back(Download(context, *block, {}));
      }
    }
    return input;
  }

  // The matrix in the type the user asked for.
  StoredMatrix Narrowed(const Context& context, Matrix matrix) {
    if (options_.features_as == FeatureType::kF32) return StoredMatrix(std::move(matrix));
    StoredMatrix out = memory_.NewStored(matrix.rows, matrix.cols, options_.features_as);
    uint16_t* halves = out.halves.mutable_data();
    ParallelFor(context, matrix.rows, kProductRows, [&](size_t begin, size_t end) {
      NarrowRows(matrix.row(begin), begin, end - begin, matrix.cols, halves);
    });
    return out;
  }

  // All rows, prepared, in the type the user asked for; block by block, so that no other matrix is made.
  StoredMatrix ReadWhole(const Context& context, const Features& features) {
    const size_t cols = features.cols();
    StoredMatrix out = memory_.NewStored(features.rows(), cols, options_.features_as);
    const bool wide = options_.features_as == FeatureType::kF32;
    float* values = out.dense.values.mutable_data();
    uint16_t* halves = out.halves.mutable_data();
    ParallelFor(context, features.rows(), kProductRows, [&](size_t begin, size_t end) {
      if (wide) return features.ReadRows(begin, end - begin, values + begin * cols);
      Array<float> block = Array<float>::Allocate(kProductRows * cols);  // (kProductRows × cols)
      for (size_t first = begin; first < end; first += kProductRows) {
        const size_t count = std::min(kProductRows, end - first);
        features.ReadRows(first, count, block.mutable_data());
        NarrowRows(block.data(), first, count, cols, halves);
      }
    });
    return out;
  }

  // Rows first … first + count − 1 of `halves` (… × cols) ← from (count × cols).
  void NarrowRows(const float* from, size_t first, size_t count, size_t cols, uint16_t* halves) const {
    if (options_.features_as == FeatureType::kF16) CheckFitsF16(from, count * cols, first, cols);
    kernels_.narrow(count * cols, from, options_.features_as, halves + first * cols);
  }

  static void CheckFitsF16(const float* values, size_t count, size_t first_row, size_t cols) {
    constexpr float kLargestHalf = 65504.0f;
    for (size_t i = 0; i < count; ++i) {
      if (std::abs(values[i]) <= kLargestHalf) continue;
      ThrowInput(
          "row {} column {} holds {}, which --features-as f16 cannot (its largest value is 65504); use bf16 "
          "or f32",
          first_row + i / cols, i % cols, values[i]);
    }
  }

  // Row `row` of x as floats, to out (cols).
  void CopyRow(const StoredMatrix& x, uint32_t row, float* out) const {
    if (x.is_sparse) {
      std::fill(out, out + x.cols, 0.0f);
      for (uint64_t e = x.sparse.indptr[row]; e < x.sparse.indptr[row + 1]; ++e) {
        out[x.sparse.indices[e]] = x.sparse.values[e];
      }
      return;
    }
    Array<float> padded = Array<float>::Allocate(PadWidth(x.cols));
    GatherRows(kernels_, x, &row, 1, padded.mutable_data(), PadWidth(x.cols));
    std::memcpy(out, padded.data(), x.cols * sizeof(float));
  }

  // Rows of X·W (all, or those named), or of the hidden layer that they are the products of; block by block of
  // kProductRows rows.
  Matrix Multiply(const Context& context, const InputBlocks& x, const PaddedWeights& w,
                  std::span<const uint32_t> rows, bool relu, const CpuHidden* hidden = nullptr) {
    L2GCN_ASSERT(x.cols == w.rows);
    const size_t count = rows.empty() ? x.rows : rows.size();
    const size_t x_stride = x.dense.empty() ? 0 : GatheredStride(x);
    const bool two = hidden != nullptr || (x.sparse.cols > 0 && !x.dense.empty());
    Matrix out = memory_.NewMatrix(count, w.cols);
    float* out_values = out.values.mutable_data();
    ParallelFor(context, count, kProductRows, [&](size_t begin, size_t end) {
      Array<float> gathered = Array<float>::Allocate(kProductRows * x_stride);
      Array<float> y = Array<float>::Allocate(kProductRows * w.stride);  // (kProductRows × stride), like more
      Array<float> more = Array<float>::Allocate(two ? kProductRows * w.stride : 0);
      float inverse[kProductRows];
      uint32_t picked[kProductRows];
      for (size_t from = begin; from < end; from += kProductRows) {
        const size_t size = std::min(kProductRows, end - from);
        for (size_t i = 0; i < size; ++i)
          picked[i] = rows.empty() ? static_cast<uint32_t>(from + i) : rows[from + i];
        BlocksProduct(kernels_, x, w, picked, size, relu, x_stride, gathered.mutable_data(),
                      more.mutable_data(), y.mutable_data());
        if (hidden != nullptr)
          Activate(kernels_, *hidden, size, y.mutable_data(), inverse, more.mutable_data());
        CopyRows((hidden != nullptr ? more : y).data(), w.stride, size, w.cols, out_values + from * w.cols);
      }
    });
    return out;
  }

  static CsrMatrix SparseRowsOf(const CsrMatrix& x, std::span<const uint32_t> rows) {
    CsrMatrix out;
    out.rows = rows.size();
    out.cols = x.cols;
    out.indptr = Array<uint64_t>::Allocate(rows.size() + 1);
    uint64_t* indptr = out.indptr.mutable_data();
    indptr[0] = 0;
    for (size_t i = 0; i < rows.size(); ++i)
      indptr[i + 1] = indptr[i] + x.indptr[rows[i] + 1] - x.indptr[rows[i]];
    out.indices = Array<uint32_t>::Allocate(indptr[rows.size()]);
    out.values = Array<float>::Allocate(indptr[rows.size()]);
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint64_t from = x.indptr[rows[i]], count = indptr[i + 1] - indptr[i];
      std::copy_n(x.indices.data() + from, count, out.indices.mutable_data() + indptr[i]);
      std::copy_n(x.values.data() + from, count, out.values.mutable_data() + indptr[i]);
    }
    return out;
  }

  // ReLU(Â X W), X̂ block by block: no second matrix of X's size is needed.
  Matrix AggregateAndMultiply(const Context& context, const Propagation& a, const StoredMatrix& x,
                              const Matrix& w) {
    const PaddedWeights padded(w, {}, {}, w.rows);
    Matrix out = memory_.NewMatrix(a.nodes, w.cols);
    float* out_values = out.values.mutable_data();
    uint32_t in_order[kProductRows];
    std::iota(in_order, in_order + kProductRows, 0u);
    const auto multiply = [&](const StoredMatrix& rows, size_t first) {
      const InputBlocks input(rows);
      const size_t x_stride = GatheredStride(input);
      Array<float> gathered = Array<float>::Allocate(kProductRows * x_stride);
      Array<float> block = Array<float>::Allocate(kProductRows * padded.stride);
      BlocksProduct(kernels_, input, padded, in_order, rows.rows, true, x_stride, gathered.mutable_data(),
                    nullptr, block.mutable_data());
      CopyRows(block.data(), padded.stride, rows.rows, w.cols, out_values + first * w.cols);
    };
    AggregateBlocks(context, kernels_, a, x, kProductRows, options_.features_as, multiply);
    return out;
  }

  // Rows of a padded block to out (count × cols).
  static void CopyRows(const float* block, size_t stride, size_t count, size_t cols, float* out) {
    for (size_t i = 0; i < count; ++i) std::memcpy(out + i * cols, block + i * stride, cols * sizeof(float));
  }

  BackendOptions options_;
  const CpuKernels& kernels_;
  MatrixMemory memory_;  // of the layers' matrices, one after another
  std::string explanation_;
};

}  // namespace

std::unique_ptr<Backend> MakeCpuBackend(const BackendOptions& options, std::shared_ptr<DiskMemory> disk) {
  return std::make_unique<CpuBackend>(options, std::move(disk));
}

}  // namespace l2gcn
