#include "pipeline/layer_pipeline.h"

#include <algorithm>

#include "config/methods.h"
#include "core/clock.h"
#include "core/error_format.h"
#include "data/node_types.h"
#include "data/prepare.h"
#include "data/relations.h"
#include "data/structure.h"
#include "data/table_schema.h"
#include "graph/build.h"
#include "graph/normalise.h"
#include "pipeline/backend_options.h"

namespace l2gcn {
namespace {

// Features that are no numbers keep their 0 and 1.
void LeaveUnscaled(std::span<const uint8_t> is_number, Model::Preparation& preparation) {
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

// Relation by relation one for each adjacency.
std::vector<Propagation> MakeOperators(const Context& context, const std::vector<Graph>& graphs,
                                       const TrainConfig& config) {
  std::vector<Propagation> operators;
  for (const Graph& graph : graphs) {
    for (const Adjacency adjacency : config.adjacency)
      operators.push_back(MakePropagation(context, graph, adjacency));
  }
  return operators;
}

// What a trained model aggregates with.
std::vector<Propagation> ModelOperators(const Context& context, const std::vector<Graph>& graphs,
                                        const TrainConfig& config) {
  const MethodOperator op = FindMethod(config.method).op;
  if (op == MethodOperator::kNeighbourMean) return {MakeNeighbourMean(context, graphs.front())};
  std::vector<Propagation> operators = MakeOperators(context, graphs, config);
  if (op == MethodOperator::kEnhancedDiagonal) EnhanceDiagonal(config.diagonal, operators.front());
  return operators;
}

std::vector<DeviceGraphPtr> UploadAll(const Context& context, Backend& backend,
                                      const std::vector<Propagation>& operators) {
  std::vector<DeviceGraphPtr> uploaded;
  for (const Propagation& a : operators) uploaded.push_back(backend.Upload(context, a));
  return uploaded;
}

// Whether both are the same block of memory.
bool AreSame(const HiddenParameters& a, const HiddenParameters& b) {
  return std::all_of(std::begin(kHiddenParts), std::end(kHiddenParts), [&](const auto& part) {
    return (a.*part.second).values.data() == (b.*part.second).values.data();
  });
}

}  // namespace

LayerPipeline::LayerPipeline(const Dataset& dataset, const TrainConfig& config)
    : name_(dataset.name),
      graph_(dataset.graph),
      relations_(dataset.relations),
      config_(config),
      inductive_(!config.transductive) {
  GraphsOf(OperatorRelations(config));  // which must be there
}

LayerPipeline::LayerPipeline(const Context& context, const Dataset& dataset, const TrainConfig& config,
                             std::vector<uint32_t> train_nodes)
    : LayerPipeline(dataset, config) {
  if (inductive_ && !dataset.node_types.empty()) {
    ThrowUsage(
        "--setting inductive: {} has several types of nodes, of which only the labelled are split; use "
        "transductive",
        dataset.name);
  }
  train_nodes_ = std::move(train_nodes);
  const std::vector<uint8_t> fit_rows = RowsToFit(dataset, train_nodes_);
  schema_ = FitSchema(context, dataset, fit_rows);
  features_ = ApplySchema(context, schema_, dataset);
  preparation_ = FitPreparation(context, features_, fit_rows, config_.scale, config_.pca, config_.seed);
  if (config_.pca == 0) {
    FitTypes(context, dataset, schema_, features_, fit_rows, config_.scale, preparation_);
    LeaveUnscaled(NumberFeatures(schema_), preparation_);
  }
  features_ = BlankOtherTypes(context, dataset, schema_, preparation_, features_);
  if (context.device != DeviceKind::kCpu)
    made_ = GraphInTraining(context);  // a GPU may still be getting ready
  backend_ = MakeBackend(context, BackendOptionsOf(config_));
}

LayerPipeline::LayerPipeline(const Context& context, const Dataset& dataset, const Model& model)
    : LayerPipeline(dataset, model.config) {
  schema_ = model.schema;
  preparation_ = model.preparation;
  features_ =
      BlankOtherTypes(context, dataset, schema_, preparation_, FittingFeatures(context, model, dataset));
  backend_ = MakeBackend(context, BackendOptionsOf(config_));
}

LayerPipeline::LayerPipeline(const LayerPipeline& other, const TrainConfig& config)
    : name_(other.name_),
      graph_(other.graph_),
      relations_(other.relations_),
      schema_(other.schema_),
      features_(other.features_),
      config_(config),
      inductive_(other.inductive_),
      train_nodes_(other.train_nodes_),
      preparation_(other.preparation_),
      backend_(other.backend_),
      shared_(other.shared_),
      input_(other.input_),
      input_is_free_(other.input_is_free_),
      smooth_seconds_(other.smooth_seconds_) {}

std::shared_ptr<LayerPipeline> LayerPipeline::WithLayers(const Context& context, const TrainConfig& config) {
  L2GCN_ASSERT(FindMethod(config.method).op == MethodOperator::kNormalised);
  if (shared_ == nullptr) {
    shared_ = std::make_shared<SharedInput>(Input(context));
    const std::vector<std::string> names = OperatorRelations(config_);
    for (size_t i = 0; made_ && inductive_ && i < names.size(); ++i)
      shared_->Subgraph(names[i], [&] { return made_->graphs[i]; });
    made_.reset();
  }
  return std::shared_ptr<LayerPipeline>(new LayerPipeline(*this, config));
}

void LayerPipeline::EndSharing() {
  if (shared_ != nullptr) shared_->KeepOnly(OperatorRelations(config_), config_.adjacency);
  shares_once_more_ = true;
}

TensorPtr LayerPipeline::Product(const Context& context, const DeviceGraph& a, const Tensor& x,
                                 std::span<const uint32_t> rows) {
  const auto make = [&] { return backend_->Aggregate(context, a, x, rows); };
  return shared_ == nullptr ? make() : shared_->Product(&a, x, make);
}

std::vector<Graph> LayerPipeline::GraphsOf(const std::vector<std::string>& relations) const {
  return GraphsNamed(relations, graph_, relations_, name_);
}

std::vector<DeviceGraphPtr> LayerPipeline::SharedOperators(const Context& context, bool whole) {
  std::vector<DeviceGraphPtr> operators;
  for (const std::string& relation : OperatorRelations(config_)) {
    Graph graph = GraphsOf({relation}).front();
    if (!whole)
      graph = shared_->Subgraph(relation, [&] { return InducedSubgraph(context, graph, train_nodes_); });
    for (const Adjacency adjacency : config_.adjacency) {
      operators.push_back(shared_->Operator({relation, adjacency, whole}, [&] {
        return backend_->Upload(context, MakePropagation(context, graph, adjacency));
      }));
    }
  }
  return operators;
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
  if (input_is_free_ || input_ == nullptr || config_.raw_features) return;
  if (shared_ != nullptr && !shares_once_more_) return;
  spare_input_ = input_;
  backend_->KeepSpare(std::move(input_));
}

void LayerPipeline::ReleaseTrainOperator() {
  if (inductive_) train_operators_.clear();
}

Features LayerPipeline::HostInput(const Context& context) {
  return backend_->DownloadFeatures(context, *Input(context));
}

LayerPipeline::TrainingGraph LayerPipeline::GraphInTraining(const Context& context) const {
  TrainingGraph training;
  training.graphs = GraphsOf(OperatorRelations(config_));
  for (Graph& graph : training.graphs) {
    if (inductive_) graph = InducedSubgraph(context, graph, train_nodes_);
  }
  training.operators = MakeOperators(context, training.graphs, config_);
  return training;
}

LayerPipeline::TrainingGraph LayerPipeline::MakeTrainingGraph(const Context& context) {
  TrainingGraph training = made_ ? std::move(*made_) : GraphInTraining(context);
  made_.reset();
  if (train_operators_.empty()) train_operators_ = UploadAll(context, *backend_, training.operators);
  if (TrainsWithWhole() && whole_.empty()) whole_ = training.operators;
  return training;
}

const std::vector<DeviceGraphPtr>& LayerPipeline::TrainOperators(const Context& context) {
  if (train_operators_.empty() && shared_ != nullptr)
    train_operators_ = SharedOperators(context, !inductive_);
  if (train_operators_.empty()) MakeTrainingGraph(context);
  return train_operators_;
}

void LayerPipeline::NeedLastRowsOf(const Context& context, const std::vector<uint32_t>& nodes) {
  if (!TrainsWithWhole() || context.disk == nullptr || context.ranks != nullptr || config_.self_features)
    return;
  TrainOperator(context);
  // Whether aggregated features stay sparse is decided by all of them, and a rate is found from all of X.
  const uint32_t first =
      std::max(config_.FindsRate() ? config_.layers - 1 : 0u, Input(context)->sparse ? 1u : 0u);
  needed_ = FindNeededRows(context, Whole(context).front(), nodes, config_.layers, first);
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
  if (!config_.self_features) return OperatorFor(context, layer).entries;
  uint64_t entries = 0;
  for (const DeviceGraphPtr& a : TrainOperators(context)) entries += a->entries;
  return entries;
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
  LayerInput input = AggregateRows(context, layer, std::move(x), rows, hops);
  if (layer == 0 && shares_once_more_) shared_.reset();
  return input;
}

LayerInput LayerPipeline::AggregateRows(const Context& context, uint32_t layer, TensorPtr x,
                                        std::span<const uint32_t> rows, uint32_t hops) {
  if (!config_.self_features) {
    for (uint32_t hop = 0; hop < hops; ++hop, rows = {})
      x = Product(context, OperatorFor(context, layer), *x, rows);
    return x;
  }
  LayerInput input = std::move(x);
  if (!rows.empty()) {
    const Tensor& all = *input.blocks.front();
    const auto pick = [&] { return backend_->PickRows(context, all, rows); };
    input = LayerInput(shared_ == nullptr ? pick() : shared_->Product(nullptr, all, pick));
  }
  AddHops(context, TrainOperators(context), config_.hops, input);
  AddRawFeatures(context, layer, InputRows(), input);
  if (shared_ == nullptr) return backend_->MergeSparse(std::move(input));
  return shared_->Merged(input, [&] { return backend_->MergeSparse(input); });
}

const Tensor& LayerPipeline::LastHop(const LayerInput& input, size_t operators, size_t which) {
  const size_t blocks = input.blocks.size();
  return *input.blocks[blocks <= operators ? 0 : blocks - operators + which];
}

void LayerPipeline::AddHops(const Context& context, const std::vector<DeviceGraphPtr>& operators,
                            uint32_t hops, LayerInput& input) {
  const size_t all = operators.size();
  for (size_t hop = (input.blocks.size() - 1) / all; hop < hops; ++hop) {
    const LayerInput before = input;
    for (size_t which = 0; which < all; ++which) {
      const Tensor& x = LastHop(before, all, which);
      input.blocks.push_back(Product(context, *operators[which], x, {}));
    }
  }
}

void LayerPipeline::AddRawFeatures(const Context& context, uint32_t layer, std::span<const uint32_t> rows,
                                   LayerInput& input) {
  if (!config_.raw_features || layer == 0) return;
  TensorPtr raw = Input(context);
  if (!rows.empty()) raw = backend_->PickRows(context, *raw, rows);
  input.blocks.insert(input.blocks.begin(), std::move(raw));
}

TensorPtr LayerPipeline::Transform(const Context& context, const LayerInput& xhat,
                                   const HiddenParameters& hidden) {
  return backend_->Transform(context, xhat, hidden);
}

Matrix LayerPipeline::TrainRows(const Context& context, const Tensor& x, uint32_t hops) {
  Matrix all = backend_->Download(context, x);
  if (HoldsTrainNodesAlone(hops)) return all;
  Matrix rows = Matrix::Allocate(train_nodes_.size(), all.cols);
  float* out = rows.values.mutable_data();
  for (uint32_t node : train_nodes_) out = std::copy_n(all.row(node), all.cols, out);
  return rows;
}

const std::vector<Propagation>& LayerPipeline::Whole(const Context& context) {
  if (whole_.empty()) whole_ = ModelOperators(context, GraphsOf(OperatorRelations(config_)), config_);
  return whole_;
}

const std::vector<DeviceGraphPtr>& LayerPipeline::WholeOperators(const Context& context) {
  if (!whole_operators_.empty()) return whole_operators_;
  if (shared_ != nullptr) return whole_operators_ = SharedOperators(context, true);
  whole_operators_ = TrainsWithWhole() && !train_operators_.empty()
                         ? train_operators_
                         : UploadAll(context, *backend_, Whole(context));
  return whole_operators_;
}

std::vector<DeviceGraphPtr> LayerPipeline::WholeRows(const Context& context, std::span<const uint32_t> nodes,
                                                     uint32_t hops) {
  std::vector<Propagation> rows;
  if (hops == 0) {
    rows.push_back(RowsOf(context, MakePropagation(context, graph_, Adjacency::kNone), nodes));
  } else {
    for (const Propagation& a : Whole(context)) rows.push_back(RowsOf(context, a, nodes));
  }
  return UploadAll(context, *backend_, rows);
}

TensorPtr LayerPipeline::ForwardWhole(const Context& context, uint32_t layer, const TensorPtr& x,
                                      const HiddenParameters& hidden) {
  if (BlocksOfHops(config_) > 1) {
    LayerInput input = x;
    AddHops(context, WholeOperators(context), config_.hops, input);
    AddRawFeatures(context, layer, {}, input);
    return backend_->Transform(context, input, hidden);
  }
  const DeviceGraph& a = WholeOperator(context);
  if (hidden.basic()) return backend_->Forward(context, a, *x, hidden.weight);
  return backend_->Transform(context, backend_->Aggregate(context, a, *x, {}), hidden);
}

bool LayerPipeline::HoldsEveryNode(const Context& context) const {
  return TrainsWithWhole() && needed_.empty() && context.disk == nullptr && context.ranks == nullptr;
}

bool LayerPipeline::KeepWhole(const HiddenParameters& hidden, TensorPtr output, size_t most_bytes) {
  size_t bytes = output->bytes;
  for (const Kept& kept : kept_) bytes += kept.output->bytes;
  if (bytes > most_bytes) return false;
  kept_.push_back({hidden, std::move(output)});
  return true;
}

TensorPtr LayerPipeline::KeptWhole(size_t layer, const HiddenParameters& hidden) const {
  if (layer >= kept_.size()) return nullptr;
  return AreSame(kept_[layer].hidden, hidden) ? kept_[layer].output : nullptr;
}

void LayerPipeline::KeepLastInput(const HiddenParameters& hidden, LayerInput xhat) {
  last_ = hidden;
  last_input_ = std::move(xhat);
}

LayerInput LayerPipeline::TakeLastInput(const HiddenParameters& hidden) {
  return AreSame(last_, hidden) ? std::exchange(last_input_, {}) : LayerInput();
}

Matrix LayerPipeline::HeadLogits(const Context& context, const TensorPtr& x, const Head& head,
                                 std::span<const uint32_t> rows) {
  const bool two = head.hidden.weight.rows > 0;
  const TensorPtr hidden = two ? backend_->Transform(context, x, head.hidden, rows) : nullptr;
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
  return HeadLogits(context, backend_->Transform(context, xhat, state.hidden(), rows), state.head(), {});
}

DeviceGraphPtr LayerPipeline::PropagationOperator(const Context& context) {
  return backend_->Upload(context, MakePropagation(context, graph_, Adjacency::kSym));
}

}  // namespace l2gcn
