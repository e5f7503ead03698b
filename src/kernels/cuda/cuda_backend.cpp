#include "kernels/cuda/cuda_backend.h"

#include <algorithm>
#include <vector>

#include "core/error_format.h"
#include "kernels/checked_cast.h"
#include "kernels/cuda/fused_training.h"
#include "kernels/cuda/general_kernels.h"
#include "kernels/cuda/general_training.h"
#include "kernels/cuda/row_product.h"
#include "kernels/cuda/scoring.h"
#include "kernels/cuda/tensor.h"
#include "kernels/sparse_density.h"

namespace l2gcn::cuda {
namespace {

const CudaTensor& AsCuda(const Tensor& tensor) { return CheckedCast<CudaTensor>(tensor); }

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::shared_ptr<Device> device, const BackendOptions& options)
      : options_(options), kind_(KindOf(options.features_as)), device_(std::move(device)) {
    explanation_ = device_->name();
  }
  ~CudaBackend() override { device_->SetBeforeAllocation(nullptr); }

  TensorPtr Upload(const Context& context, const Features& features) override {
    TensorPtr tensor = UploadFeatures(context, device_, uploader_, features, kind_);
    device_->Synchronise("uploading features");
    return tensor;
  }
  DeviceGraphPtr Upload(const Context& context, const Propagation& propagation) override {
    return UploadGraph(context, device_, uploader_, propagation);
  }

  TensorPtr Aggregate(const Context& context, const DeviceGraph& graph, const Tensor& x,
                      std::span<const uint32_t> row_of_node) override {
    return Aggregated(context, graph, x, row_of_node, x.cols, false);
  }
  TensorPtr AggregatePanel(const Context& context, const DeviceGraph& graph, const Tensor& x,
                           size_t cols) override {
    return Aggregated(context, graph, x, {}, cols, false);
  }

  TensorPtr PickRows(const Context&, const Tensor& x, std::span<const uint32_t> rows) override {
    const CudaTensor& from = AsCuda(x);
    Buffer picked = Buffer::OnDevice(device_, rows.size_bytes(), "picked rows");
    picked.CopyFrom(rows.data(), rows.size_bytes());
    auto out = from.sparse ? NewSparse(device_, rows.size(), x.cols, PickedOffsets(from, rows))
                           : NewDense(device_, rows.size(), x.cols, from.view.kind);
    LaunchPickRows(from.view, picked.as<uint32_t>(), rows.size(), out->view, out->columns.as<uint32_t>(),
                   out->values.as<float>(), device_->stream());
    device_->Synchronise("picking rows");
    return out;
  }

  TensorPtr Transform(const Context& context, const LayerInput& x, const HiddenParameters& hidden,
                      std::span<const uint32_t> rows) override {
    if (hidden.basic() && x.blocks.size() == 1)
      return Multiply(AsCuda(*x.blocks.front()), hidden.weight, rows, true, kind_);
    return TransformRows(context, device_, *Products(), x, hidden, rows, kind_);
  }

  Matrix Logits(const Context&, const Tensor& x, const Matrix& theta,
                std::span<const uint32_t> rows) override {
    return DownloadTensor(device_, pool_, *Multiply(AsCuda(x), theta, rows, false, RowKind::kF32));
  }
  // Some rows are picked on the GPU, so that no others travel.
  Matrix Download(const Context& context, const Tensor& x, std::span<const uint32_t> rows) override {
    if (rows.empty()) return DownloadTensor(device_, pool_, AsCuda(x));
    return DownloadTensor(device_, pool_, AsCuda(*PickRows(context, x, rows)));
  }
  void ReadRows(const Context&, const Tensor& x, size_t first, size_t count, float* out) override {
    L2GCN_ASSERT(first + count <= x.rows);
    DownloadRows(device_, AsCuda(x), first, count, out);
  }

  Features DownloadStored(const Context&, const Tensor& x) override {
    return DownloadAsStored(device_, pool_, AsCuda(x));
  }

  std::unique_ptr<LayerTraining> BeginLayer(const Context&, const LayerInput& xhat, Array<uint32_t> samples,
                                            const Targets& targets, const LayerSpec& spec,
                                            const LayerState& start) override {
    if (!SameTargets(samples, targets))
      targets_ = UploadTargets(device_, xhat.rows(), std::move(samples), targets);
    // The fused kernels know the losses of classification alone.
    if (!spec.architecture.basic() || xhat.blocks.size() > 1 || targets.regression())
      return MakeGeneralTraining(device_, Products(), xhat, targets_, spec, start, &explanation_);
    return MakeFusedTraining(device_, xhat.blocks.front(), targets_, spec, start, options_.precision,
                             &explanation_);
  }

  std::shared_ptr<const RowsToScore> PrepareScoring(const Context&, const LayerInput& x, Array<uint32_t> rows,
                                                    const Targets& targets, bool margins) override {
    auto prepared = std::make_shared<CudaRowsToScore>();
    prepared->margins = margins;
    prepared->targets = UploadTargets(device_, x.rows(), std::move(rows), targets);
    prepared->x = x;
    return prepared;
  }
  RowScores Score(const Context& context, const LayerTraining& training, const RowsToScore& rows) override {
    return CheckedCast<CudaTraining>(training).Score(context, CheckedCast<CudaRowsToScore>(rows));
  }
  RowScores Score(const Context& context, const Matrix& theta, const RowsToScore& rows) override {
    return ScoreOutput(context, device_, theta, CheckedCast<CudaRowsToScore>(rows), options_.precision);
  }

  // What a budget has sent to host memory may stay there; what it has let on the GPU makes room.
  void KeepSpare(TensorPtr tensor) override {
    const bool on_host = AsCuda(*tensor).dense.on_host();
    if (!on_host && device_->has_budget()) return;
    spare_ = std::move(tensor);
    spare_limit_ = 0;
    if (!on_host)
      device_->SetBeforeAllocation([this](uint64_t wanted, uint64_t peak) { MakeRoom(wanted, peak); });
  }

  uint64_t PeakDeviceBytes() const override { return device_->peak_bytes(); }
  std::string Explain() const override { return explanation_; }

 protected:
  TensorPtr TransformAggregate(const Context& context, const DeviceGraph& graph, const Tensor& x,
                               const Matrix& w) override {
    return Aggregated(context, graph, *Multiply(AsCuda(x), w, {}, false, kind_), {}, w.cols, true);
  }

 private:
  // Lets the spare tensor go where it would raise the peak by more than a thirty-second. While others use it, too, it
  // costs nothing.
  void MakeRoom(uint64_t wanted, uint64_t peak) {
    if (spare_.use_count() != 1) return;
    if (spare_limit_ == 0) spare_limit_ = peak + peak / 32;
    if (wanted > spare_limit_) spare_.reset();
  }

  std::shared_ptr<const Blas> Products() {
    if (blas_ == nullptr)
      blas_ = std::make_shared<const Blas>(device_, device_->stream(), options_.precision);
    return blas_;
  }

  // Where the picked rows of a sparse matrix begin.
  static std::vector<uint64_t> PickedOffsets(const CudaTensor& from, std::span<const uint32_t> rows) {
    std::vector<uint64_t> all(from.rows + 1), offsets(rows.size() + 1, 0);
    from.indptr.CopyTo(all.data(), all.size() * sizeof(uint64_t));
    for (size_t i = 0; i < rows.size(); ++i)
      offsets[i + 1] = offsets[i] + all[rows[i] + size_t{1}] - all[rows[i]];
    return offsets;
  }

  // Arrays are shared, not copied, so equal addresses of arrays we still hold mean equal labels.
  bool SameTargets(const Array<uint32_t>& samples, const Targets& targets) const {
    return targets_ != nullptr && targets_->samples.data() == samples.data() &&
           targets_->samples.size() == samples.size() &&
           targets_->targets.classes_of.data() == targets.classes_of.data() &&
           targets_->targets.classes_of.size() == targets.classes_of.size() &&
           targets_->targets.matrix.data() == targets.matrix.data() &&
           targets_->targets.matrix.size() == targets.matrix.size() &&
           targets_->targets.weights.data() == targets.weights.data() &&
           targets_->targets.weights.size() == targets.weights.size() &&
           targets_->targets.loss == targets.loss &&
           targets_->targets.values.data() == targets.values.data() &&
           targets_->targets.values.size() == targets.values.size() &&
           targets_->targets.node_weights.data() == targets.node_weights.data() &&
           targets_->targets.node_weights.size() == targets.node_weights.size();
  }

  // `cols` are those of the matrix that x is, or is a panel of.
  TensorPtr Aggregated(const Context& context, const DeviceGraph& graph, const Tensor& x,
                       std::span<const uint32_t> row_of_node, size_t cols, bool relu) {
    context.CheckCancelled();
    AggregateArguments a = CheckedCast<CudaGraph>(graph).view;
    const CudaTensor& input = AsCuda(x);
    Buffer map;
    if (!row_of_node.empty()) {
      map = Buffer::OnDevice(device_, row_of_node.size_bytes(), "the rows of nodes");
      map.CopyFrom(row_of_node.data(), row_of_node.size_bytes());
      a.row_of_node = map.as<uint32_t>();
    }
    TensorPtr out = input.sparse ? AggregateSparse(a, input) : AggregateDense(a, input, cols, relu);
    device_->Synchronise("aggregating");
    return out;
  }

  // Features that live in host memory pass through the device a tile of columns at a time, so that every row
  // is fetched once and gathered from device memory.
  TensorPtr AggregateDense(const AggregateArguments& a, const CudaTensor& x, size_t cols, bool relu) {
    const int lanes = LanesFor(a, PaddedStride(cols));
    auto out = NewDense(device_, a.nodes, x.cols, x.view.kind);
    const uint32_t columns = static_cast<uint32_t>(x.view.stride);
    const size_t column_bytes = x.rows * ElementBytes(x.view.kind);
    const size_t fitting = device_->FreeBytes() / 2 / std::max<size_t>(1, column_bytes) / 8 * 8;
    if (!x.dense.on_host() || fitting == 0) {
      LaunchAggregate(a, x.view, out->view, columns, relu, device_->stream(), lanes);
      return out;
    }
    const uint32_t width = static_cast<uint32_t>(std::min<size_t>(columns, std::min<size_t>(fitting, 128)));
    Buffer tile = Buffer::OnDevice(device_, column_bytes * width, "a tile of features");
    const DeviceRows tile_rows{x.view.kind, tile.as<void>(), width};
    for (uint32_t first = 0; first < columns; first += width) {
      const uint32_t some = std::min(width, columns - first);
      LaunchCopyColumns(x.view, first, tile_rows, x.rows, some, device_->stream());
      DeviceRows target = out->view;
      target.dense = out->dense.as<char>() + first * ElementBytes(target.kind);
      LaunchAggregate(a, tile_rows, target, some, relu, device_->stream(), lanes);
    }
    device_->Synchronise("aggregating");
    return out;
  }

  TensorPtr AggregateSparse(const AggregateArguments& a, const CudaTensor& x) {
    const uint32_t columns = static_cast<uint32_t>(x.cols);
    if (options_.sparse != Choice::kOff) {
      Buffer counts = Buffer::OnDevice(device_, a.nodes * sizeof(uint32_t), "sparse aggregation");
      LaunchCountEntries(a, x.view, columns, counts.as<uint32_t>(), device_->stream());
      std::vector<uint32_t> entries(a.nodes);
      counts.CopyTo(entries.data(), entries.size() * sizeof(uint32_t));
      std::vector<uint64_t> indptr(a.nodes + size_t{1}, 0);
      for (size_t i = 0; i < a.nodes; ++i) indptr[i + 1] = indptr[i] + entries[i];
      const double density =
          static_cast<double>(indptr.back()) / (static_cast<double>(a.nodes) * static_cast<double>(columns));
      if (options_.sparse == Choice::kOn || density <= SparseDensityOf(DeviceKind::kCuda)) {
        auto out = NewSparse(device_, a.nodes, x.cols, indptr);
        LaunchAggregateSparse(a, x.view, columns, out->indptr.as<uint64_t>(), out->columns.as<uint32_t>(),
                              out->values.as<float>(), device_->stream());
        device_->Synchronise("aggregating sparse features");
        return out;
      }
    }
    auto out = NewDense(device_, a.nodes, x.cols, kind_);
    LaunchAggregateToDense(a, x.view, columns, out->view, device_->stream());
    return out;
  }

  // X W (rows picked or all), ReLU'd or not.
  std::shared_ptr<CudaTensor> Multiply(const CudaTensor& x, const Matrix& w, std::span<const uint32_t> rows,
                                       bool relu, RowKind kind) {
    L2GCN_ASSERT(x.cols == w.rows);
    const size_t count = rows.empty() ? x.rows : rows.size();
    Buffer picked;
    if (!rows.empty()) {
      picked = Buffer::OnDevice(device_, rows.size_bytes(), "picked rows");
      picked.CopyFrom(rows.data(), rows.size_bytes());
    }
    auto out = NewDense(device_, count, w.cols, kind);
    const ProductWeights weights = UploadWeights(device_, w);
    MultiplyRows(device_, x.view, rows.empty() ? nullptr : picked.as<uint32_t>(), 0, count, weights,
                 out->view, relu, options_.precision);
    device_->Synchronise("multiplying");
    return out;
  }

  const BackendOptions options_;
  const RowKind kind_;
  const std::shared_ptr<Device> device_;
  Uploader uploader_{device_};
  std::shared_ptr<const DeviceTargets> targets_;
  std::shared_ptr<const Blas> blas_;  // made when it is first wanted
  TensorPtr spare_;                   // needed by nobody, and gone when memory is wanted
  uint64_t spare_limit_ = 0;          // memory in use beyond which it goes; 0: others need it still
  BlockPool pool_;                    // host memory for what is downloaded
  std::string explanation_;
};

}  // namespace

std::function<std::unique_ptr<Backend>(const BackendOptions& options)> CudaBackendMaker(
    const Context& context) {
  const auto device = std::make_shared<Device>(context.device_index, context.device_memory);
  return [device](const BackendOptions& options) { return std::make_unique<CudaBackend>(device, options); };
}

}  // namespace l2gcn::cuda
