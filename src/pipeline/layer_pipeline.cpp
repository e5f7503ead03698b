#include "pipeline/layer_pipeline.h"

#include <algorithm>

#include "config/methods.h"
#include "core/clock.h"
#include "core/error_format.h"
#include "data/prepare.h"
#include "data/structure.h"
#include "data/table_schema.h"
#include "graph/build.h"
#include "graph/normalise.h"
#include "pipeline/backend_options.h"

namespace l2gcn {
namespace {

// Where the elements lie: equal for two Features that share their memory.
const void* MemoryOf(const Features& features) {
  return features.stores_sparse() ? features.csr().values.data() : features.elements();
}

std::vector<uint8_t> MarksOf(std::span<const uint32_t> nodes, size_t rows) {
  std::vector<uint8_t> marks(rows, 0);
  for (uint32_t node : nodes) marks[node] = 1;
  return marks;
}

// Features that are no numbers keep their 0 and 1.
void LeaveUnscaled(std::span<const uint8_t> is_number, Preparation& preparation) {
  float* const shift = preparation.shift.mutable_data();
  float* const factor = preparation.factor.mutable_data();
  for (size_t c = 0; c < std::min(is_number.size(), preparation.factor.size()); ++c) {
    if (is_number[c] == 0) shift[c] = 0, factor[c] = 1;
  }
}

// The features of a data set in the model's layout: columns of tables by name, else by position.
Features FittingFeatures(const Context& context, const Model& model, const Dataset& dataset) {
  if (model.structure && dataset.features.cols() == 0) return WithStructure(context, dataset).features;
  Features features = ApplySchema(context, model.schema, dataset);
  if (features.cols() == model.features) return features;
  ThrowInput("{}: has {} features, but the model was trained on {}; use the data set it was trained for",
             dataset.name, features.cols(), model.features);
}

Propagation OperatorOf(const Context& context, const Graph& graph, const TrainConfig& config) {
  const MethodOperator op = FindMethod(config.method).op;
  if (op == MethodOperator::kNeighbourMean) return MakeNeighbourMean(context, graph);
  Propagation a = MakePropagation(context, graph, config.adjacency);
  if (op == MethodOperator::kEnhancedDiagonal) EnhanceDiagonal(config.diagonal, a);
  return a;
}

}  // namespace

LayerPipeline::LayerPipeline(const Context& context, const Dataset& dataset, const TrainConfig& config)
    : device_(context.device),
      graph_(dataset.graph),
      given_(dataset.features),
      config_(config),
      inductive_(config.setting == Setting::kInductive) {}

LayerPipeline::LayerPipeline(const Context& context, const Dataset& dataset, const TrainConfig& config,
                             std::vector<uint32_t> train_nodes)
    : LayerPipeline(context, dataset, config) {
  train_nodes_ = std::move(train_nodes);
  const std::vector<uint8_t> is_train = MarksOf(train_nodes_, given_.rows());
  schema_ = FitSchema(context, dataset, is_train);
  features_ = ApplySchema(context, schema_, dataset);
  preparation_ = FitPreparation(context, features_, is_train, config_.scale, config_.pca, config_.seed);
  if (config_.pca == 0) LeaveUnscaled(NumberFeatures(schema_), preparation_);
  if (context.device != DeviceKind::kCpu)
    made_ = GraphInTraining(context);  // a GPU may still be getting ready
  backend_ = MakeBackend(context, BackendOptionsOf(config_));
}

LayerPipeline::LayerPipeline(const Context& context, const Dataset& dataset, const Model& model)
    : LayerPipeline(context, dataset, model.config) {
  schema_ = model.schema;
  features_ = FittingFeatures(context, model, dataset);
  preparation_ = model.preparation;
  backend_ = MakeBackend(context, BackendOptionsOf(config_));
}

bool LayerPipeline::Serves(const Context& context, const Dataset& dataset) const {
  return context.device == device_ && dataset.graph.indptr.data() == graph_.indptr.data() &&
         dataset.graph.indices.data() == graph_.indices.data() && dataset.nodes() == graph_.nodes &&
         MemoryOf(dataset.features) == MemoryOf(given_);
}

TensorPtr LayerPipeline::MakeInput(const Context& context) {
  const Features prepared = ApplyPreparation(context, preparation_, features_);
  TensorPtr x = backend_->Upload(context, prepared);
  input_is_free_ = x->shares_features && config_.smooth == 0;
  if (config_.smooth == 0) return x;
  // Smoothing is part of the features, not of the model: over the whole graph, whatever --setting says.
  Stopwatch watch;
  const auto whole = backend_->Upload(context, MakePropagation(context, graph_, Adjacency::kSym));
  for (uint32_t i = 0; i < config_.smooth; ++i) x = backend_->Aggregate(context, *whole, *x, {});
  smooth_seconds_ += watch.Seconds();
  return x;
}

TensorPtr LayerPipeline::Input(const Context& context) {
  if (input_ == nullptr) input_ = spare_input_.lock();
  if (input_ == nullptr) input_ = MakeInput(context);
  return input_;
}

void LayerPipeline::ReleaseInput() {
  if (input_is_free_ || input_ == nullptr) return;
  spare_input_ = input_;
  backend_->KeepSpare(std::move(input_));
}

void LayerPipeline::ReleaseTrainOperator() {
  if (inductive_) train_operator_.reset();
}

Features LayerPipeline::HostInput(const Context& context) {
  return backend_->DownloadFeatures(context, *Input(context));
}

LayerPipeline::TrainingGraph LayerPipeline::GraphInTraining(const Context& context) const {
  TrainingGraph training;
  training.graph = inductive_ ? InducedSubgraph(context, graph_, train_nodes_) : graph_;
  training.a = MakePropagation(context, training.graph, config_.adjacency);
  return training;
}

LayerPipeline::TrainingGraph LayerPipeline::MakeTrainingGraph(const Context& context) {
  TrainingGraph training = made_ ? std::move(*made_) : GraphInTraining(context);
  made_.reset();
  if (train_operator_ == nullptr) train_operator_ = backend_->Upload(context, training.a);
  if (TrainsWithWhole() && whole_.row_scale.empty()) whole_ = training.a;
  return training;
}

const DeviceGraph& LayerPipeline::TrainOperator(const Context& context) {
  if (train_operator_ == nullptr) MakeTrainingGraph(context);
  return *train_operator_;
}

void LayerPipeline::NeedLastRowsOf(const Context& context, const std::vector<uint32_t>& nodes) {
  if (!TrainsWithWhole() || context.disk == nullptr || context.ranks != nullptr || config_.self_features)
    return;
  TrainOperator(context);
  // Whether aggregated features stay sparse is decided by all of them, and a rate is found from all of X.
  const uint32_t first =
      std::max(config_.FindsRate() ? config_.layers - 1 : 0u, Input(context)->sparse ? 1u : 0u);
  needed_ = FindNeededRows(context, Whole(context), nodes, config_.layers, first);
  needed_operators_.resize(needed_.size());
}

std::vector<uint32_t> LayerPipeline::RowsIn(uint32_t layer, std::span<const uint32_t> nodes) const {
  std::vector<uint32_t> rows(nodes.begin(), nodes.end());
  if (!HasFewRows(layer)) return rows;
  const std::span<const uint32_t> held = needed_[layer].nodes.span();
  for (uint32_t& row : rows) {
    const auto found = std::lower_bound(held.begin(), held.end(), row);
    L2GCN_ASSERT(found != held.end() && *found == row);
    row = static_cast<uint32_t>(found - held.begin());
  }
  return rows;
}

bool LayerPipeline::TrainsWithWhole() const {
  return !inductive_ && FindMethod(config_.method).op == MethodOperator::kNormalised;
}

const DeviceGraph& LayerPipeline::OperatorFor(const Context& context, uint32_t layer) {
  if (!HasFewRows(layer)) return TrainOperator(context);
  DeviceGraphPtr& made = needed_operators_[layer];
  if (made == nullptr) made = backend_->Upload(context, needed_[layer].a);
  return *made;
}

uint64_t LayerPipeline::EntriesIn(const Context& context, uint32_t layer) {
  return OperatorFor(context, layer).entries;
}

Array<uint32_t> LayerPipeline::SampleRows(uint32_t layer, uint32_t hops) const {
  if (HoldsTrainNodesAlone(hops)) return {};
  return Array<uint32_t>::CopyOf(RowsIn(layer, train_nodes_));
}

std::span<const uint32_t> LayerPipeline::InputRows() const {
  return inductive_ ? std::span<const uint32_t>(train_nodes_) : std::span<const uint32_t>();
}

LayerInput LayerPipeline::Aggregate(const Context& context, uint32_t layer, TensorPtr x, uint32_t hops) {
  if (layer == 0) kept_.clear();  // a training begins
  // X⁰ holds every node; in the inductive setting the operator's nodes are the train nodes among them.
  std::span<const uint32_t> rows = layer == 0 ? InputRows() : std::span<const uint32_t>();
  if (!config_.self_features) {
    for (uint32_t hop = 0; hop < hops; ++hop, rows = {})
      x = backend_->Aggregate(context, OperatorFor(context, layer), *x, rows);
    return x;
  }
  LayerInput input = rows.empty() ? std::move(x) : backend_->PickRows(context, *x, rows);
  x.reset();
  AddHops(context, TrainOperator(context), InputBlocks(), input);
  return backend_->MergeSparse(std::move(input));
}

void LayerPipeline::AddHops(const Context& context, const DeviceGraph& a, size_t blocks, LayerInput& input) {
  while (input.blocks.size() < blocks)
    input.blocks.push_back(backend_->Aggregate(context, a, *input.blocks.back(), {}));
}

TensorPtr LayerPipeline::Transform(const Context& context, const LayerInput& xhat, const DenseBlock& block) {
  return backend_->Transform(context, xhat, block);
}

Matrix LayerPipeline::TrainRows(const Context& context, const Tensor& x, uint32_t hops) {
  Matrix all = backend_->Download(context, x);
  if (HoldsTrainNodesAlone(hops)) return all;
  Matrix rows = Matrix::Allocate(train_nodes_.size(), all.cols);
  float* out = rows.values.mutable_data();
  for (uint32_t node : train_nodes_) out = std::copy_n(all.row(node), all.cols, out);
  return rows;
}

const Propagation& LayerPipeline::Whole(const Context& context) {
  if (whole_.row_scale.empty()) whole_ = OperatorOf(context, graph_, config_);
  return whole_;
}

const DeviceGraph& LayerPipeline::WholeOperator(const Context& context) {
  if (whole_operator_ != nullptr) return *whole_operator_;
  whole_operator_ = TrainsWithWhole() && train_operator_ != nullptr
                        ? train_operator_
                        : backend_->Upload(context, Whole(context));
  return *whole_operator_;
}

DeviceGraphPtr LayerPipeline::WholeRows(const Context& context, std::span<const uint32_t> nodes,
                                        uint32_t hops) {
  if (hops == 0) {
    const Propagation identity = MakePropagation(context, graph_, Adjacency::kNone);
    return backend_->Upload(context, RowsOf(context, identity, nodes));
  }
  return backend_->Upload(context, RowsOf(context, Whole(context), nodes));
}

TensorPtr LayerPipeline::ForwardWhole(const Context& context, const TensorPtr& x, const DenseBlock& block) {
  const DeviceGraph& a = WholeOperator(context);
  if (config_.self_features) {
    LayerInput input = x;
    AddHops(context, a, InputBlocks(), input);
    return backend_->Transform(context, input, block);
  }
  if (block.affine.rows == 0) return backend_->Forward(context, a, *x, block.w);
  return backend_->Transform(context, backend_->Aggregate(context, a, *x, {}), block);
}

bool LayerPipeline::KeepWhole(const DenseBlock& block, TensorPtr output) {
  constexpr size_t kMostBytes = size_t{32} << 20;  // of all layers
  size_t bytes = output->bytes;
  for (const Kept& kept : kept_) bytes += kept.output->bytes;
  if (bytes > kMostBytes) return false;
  kept_.push_back({block, std::move(output)});
  return true;
}

TensorPtr LayerPipeline::KeptWhole(size_t layer, const DenseBlock& block) const {
  if (layer >= kept_.size()) return nullptr;
  const Kept& kept = kept_[layer];
  const bool same = kept.block.w.values.data() == block.w.values.data() &&
                    kept.block.affine.values.data() == block.affine.values.data();
  return same ? kept.output : nullptr;
}

Matrix LayerPipeline::HeadLogits(const Context& context, const TensorPtr& x, const Head& head,
                                 std::span<const uint32_t> rows) {
  const bool two = head.hidden.rows > 0;
  const TensorPtr hidden =
      two ? backend_->Transform(context, x, {head.hidden, head.hidden_affine}, rows) : nullptr;
  Matrix logits = two ? backend_->Logits(context, *hidden, head.theta, {})
                      : backend_->Logits(context, *x, head.theta, rows);
  for (size_t i = 0; head.bias.rows > 0 && i < logits.rows; ++i) {
    float* row = logits.mutable_row(i);
    for (size_t c = 0; c < logits.cols; ++c) row[c] += head.bias.values[c];
  }
  return logits;
}

Matrix LayerPipeline::LayerLogits(const Context& context, const LayerInput& xhat, const LayerState& state,
                                  std::span<const uint32_t> rows) {
  const Head head = {state.head.value, state.head_affine.value, state.theta, state.bias.value};
  return HeadLogits(context, backend_->Transform(context, xhat, state.block(), rows), head, {});
}

DeviceGraphPtr LayerPipeline::PropagationOperator(const Context& context) {
  return backend_->Upload(context, MakePropagation(context, graph_, Adjacency::kSym));
}

}  // namespace l2gcn
