#include "kernels/ranks/hosted_backend.h"

#include <utility>

#include "core/row_preparation.h"
#include "kernels/checked_cast.h"

namespace l2gcn {
namespace {

struct HostTensor final : Tensor {
  Features values;  // as they were given, or as the device stored them
};

const Features& ValuesOf(const Tensor& tensor) { return CheckedCast<HostTensor>(tensor).values; }

std::shared_ptr<HostTensor> KeepOnHost(Features values) {
  auto tensor = std::make_shared<HostTensor>();
  tensor->rows = values.rows();
  tensor->cols = values.cols();
  tensor->sparse = values.is_sparse();
  tensor->nonzeros = tensor->sparse ? values.csr().nnz() : 0;
  tensor->bytes = values.bytes();
  tensor->values = std::move(values);
  return tensor;
}

class HostedBackend final : public Backend {
 public:
  HostedBackend(std::shared_ptr<Backend> device, FeatureType type)
      : device_(std::move(device)), type_(type) {}

  // Rows that are cheap to read and that the device would not narrow stay as they lie; the others are read once.
  TensorPtr Upload(const Context& context, const Features& features) override {
    const RowPreparation* preparation = features.preparation();
    const bool projected = preparation != nullptr && preparation->projection.rows > 0;
    const bool fits = type_ == FeatureType::kF32 || (preparation == nullptr && features.type() == type_);
    const bool as_they_lie =
        features.is_sparse() ? preparation == nullptr : !features.stores_sparse() && !projected && fits;
    if (!as_they_lie && !features.is_sparse()) return Fetched(context, device_->Upload(context, features));
    auto tensor = KeepOnHost(as_they_lie ? features : Features::Sparse(features.ToCsr(context)));
    tensor->shares_features = as_they_lie;
    return tensor;
  }

  DeviceGraphPtr Upload(const Context& context, const Propagation& propagation) override {
    return device_->Upload(context, propagation);
  }

  TensorPtr Aggregate(const Context& context, const DeviceGraph& graph, const Tensor& x,
                      std::span<const uint32_t> row_of_node) override {
    return Fetched(context, device_->Aggregate(context, graph, *There(context, x), row_of_node));
  }
  TensorPtr AggregatePanel(const Context& context, const DeviceGraph& graph, const Tensor& x,
                           size_t cols) override {
    return Fetched(context, device_->AggregatePanel(context, graph, *There(context, x), cols));
  }

  TensorPtr PickRows(const Context&, const Tensor& x, std::span<const uint32_t> rows) override {
    return KeepOnHost(ValuesOf(x).PickRows(rows));
  }

  TensorPtr Transform(const Context& context, const LayerInput& x, const HiddenParameters& hidden,
                      std::span<const uint32_t> rows) override {
    return Fetched(context, device_->Transform(context, There(context, x, rows), hidden));
  }

  Matrix Logits(const Context& context, const Tensor& x, const Matrix& theta,
                std::span<const uint32_t> rows) override {
    return device_->Logits(context, *There(context, x, rows), theta, {});
  }

  Matrix Download(const Context& context, const Tensor& x, std::span<const uint32_t> rows) override {
    if (rows.empty()) return ValuesOf(x).ToMatrix(context);
    Matrix picked = Matrix::Allocate(rows.size(), x.cols);
    ValuesOf(x).GatherRows(rows, picked.values.mutable_data());
    return picked;
  }
  void ReadRows(const Context&, const Tensor& x, size_t first, size_t count, float* out) override {
    ValuesOf(x).ReadRows(first, count, out);
  }
  Features DownloadFeatures(const Context& context, const Tensor& x) override {
    return x.sparse ? ValuesOf(x) : Features::Dense(Download(context, x, {}));
  }
  Features DownloadStored(const Context&, const Tensor& x) override { return ValuesOf(x); }

  std::unique_ptr<LayerTraining> BeginLayer(const Context& context, const LayerInput& xhat,
                                            Array<uint32_t> samples, const Targets& targets,
                                            const LayerSpec& spec, const LayerState& start) override {
    return device_->BeginLayer(context, There(context, xhat), std::move(samples), targets, spec, start);
  }

  std::shared_ptr<const RowsToScore> PrepareScoring(const Context& context, const LayerInput& x,
                                                    Array<uint32_t> rows, const Targets& targets,
                                                    bool margins) override {
    return device_->PrepareScoring(context, There(context, x, rows.span()), {}, targets, margins);
  }
  RowScores Score(const Context& context, const LayerTraining& training, const RowsToScore& rows) override {
    return device_->Score(context, training, rows);
  }
  RowScores Score(const Context& context, const Matrix& theta, const RowsToScore& rows) override {
    return device_->Score(context, theta, rows);
  }

  void ReleaseSpareMemory() override { device_->ReleaseSpareMemory(); }
  uint64_t PeakDeviceBytes() const override { return device_->PeakDeviceBytes(); }
  std::string Explain() const override { return device_->Explain(); }

 protected:
  TensorPtr AggregateTransform(const Context& context, const DeviceGraph& graph, const Tensor& x,
                               const Matrix& w) override {
    return Fetched(context, device_->Forward(context, graph, *There(context, x), w));
  }
  TensorPtr TransformAggregate(const Context& context, const DeviceGraph& graph, const Tensor& x,
                               const Matrix& w) override {
    return Fetched(context, device_->Forward(context, graph, *There(context, x), w));
  }

 private:
  TensorPtr Fetched(const Context& context, const TensorPtr& made) {
    return KeepOnHost(device_->DownloadStored(context, *made));
  }

  // Rows of x (empty: all) on the device.
  TensorPtr There(const Context& context, const Tensor& x, std::span<const uint32_t> rows = {}) {
    return device_->Upload(context, rows.empty() ? ValuesOf(x) : ValuesOf(x).PickRows(rows));
  }
  LayerInput There(const Context& context, const LayerInput& x, std::span<const uint32_t> rows = {}) {
    LayerInput there;
    for (const TensorPtr& block : x.blocks) there.blocks.push_back(There(context, *block, rows));
    return there;
  }

  const std::shared_ptr<Backend> device_;
  const FeatureType type_;
};

}  // namespace

std::shared_ptr<Backend> MakeHostedBackend(std::shared_ptr<Backend> device, FeatureType type) {
  return std::make_shared<HostedBackend>(std::move(device), type);
}

}  // namespace l2gcn
