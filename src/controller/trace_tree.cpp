#include "controller/trace_tree.h"

#include <set>

#include "controller/controller_impl.h"
#include "controller/learned_stop.h"
#include "core/clock.h"
#include "core/error_format.h"
#include "data/prepare.h"
#include "graph/build.h"
#include "graph/normalise.h"
#include "model/backend_options.h"
#include "model/metrics.h"
#include "train/layer_setup.h"
#include "train/training_set.h"
#include "train/validation_probe.h"

namespace l2gcn {

struct TraceTree::Node {
  uint32_t layer = 0;
  TensorPtr x;        // activations entering the layer: every node in layer 1, then train nodes
  TensorPtr x_whole;  // of every node, where others than train nodes are looked at
  LayerState previous;
  bool expanded = false;
  TensorPtr xhat;  // aggregated, train nodes
  LayerTrace trace;
  std::vector<LayerState> states;                      // at each decision
  std::map<uint32_t, std::unique_ptr<Node>> children;  // by the decision whose weights are kept

  void Release() {
    x = x_whole = xhat = nullptr;
    states.clear();
    previous = {};
  }
};

TraceTree::TraceTree(const Context& context, const Dataset& dataset, const TrainConfig& config,
                     std::vector<uint32_t> train, std::vector<uint32_t> scored, std::vector<uint32_t> shown)
    : context_(context),
      dataset_(dataset),
      config_(config),
      train_(std::move(train)),
      scored_(std::move(scored)),
      shown_(std::move(shown)) {
  context_.on_progress = nullptr;
  context_.on_note = nullptr;
  context_.on_warning = nullptr;
  backend_ = MakeBackend(context_, BackendOptionsOf(config_));
  const Norm norm = ParseNorm(config_.norm);
  const Graph graph = InducedSubgraph(context_, dataset_.graph, train_);
  train_graph_ = backend_->Upload(context_, MakePropagation(context_, graph, norm));
  if (LooksBeyondTrain()) {
    const Propagation whole = MakePropagation(context_, dataset_.graph, norm);
    whole_graph_ = backend_->Upload(context_, whole);
    if (!scored_.empty()) scored_rows_ = backend_->Upload(context_, RowsOf(context_, whole, scored_));
    if (!shown_.empty()) shown_rows_ = backend_->Upload(context_, RowsOf(context_, whole, shown_));
  }
  targets_ = TargetsOf(dataset_.labels, train_);
  chance_loss_ = ChanceLoss(dataset_.labels);
  std::vector<uint8_t> is_train(dataset_.nodes(), 0);
  for (uint32_t node : train_) is_train[node] = 1;
  const Preparation preparation =
      FitPreparation(context_, dataset_.features, is_train, config_.scale, config_.pca, config_.seed);
  root_ = std::make_unique<Node>();
  root_->x = backend_->Upload(context_, ApplyPreparation(context_, preparation, dataset_.features));
  root_->x_whole = root_->x;
}

TraceTree::~TraceTree() = default;

uint32_t TraceTree::TotalBudget() const {
  uint32_t total = 0;
  for (uint32_t layer = 0; layer < config_.layers; ++layer) total += config_.EpochsOf(layer);
  return total;
}

void TraceTree::Expand(Node& node) {
  const bool map_rows = node.layer == 0;
  node.xhat =
      backend_->Aggregate(context_, *train_graph_, *node.x, map_rows ? train_ : std::vector<uint32_t>{});
  const auto aggregated = [&](const DeviceGraphPtr& rows) {
    return rows == nullptr ? nullptr : backend_->Aggregate(context_, *rows, *node.x_whole, {});
  };
  const TensorPtr scored = aggregated(scored_rows_), shown = aggregated(shown_rows_);
  const LayerState start =
      LayerStart(config_, node.layer, node.xhat->cols, dataset_.labels.classes, node.previous);
  auto training =
      backend_->BeginLayer(context_, node.xhat, {}, targets_, LayerSpecOf(config_, node.layer), start);
  const uint32_t budget = config_.EpochsOf(node.layer), interval = GeneralInterval(budget);
  LayerTrace& trace = node.trace;
  BestDecision best;
  double seconds = 0;
  for (uint32_t epoch = 0; epoch < budget;) {
    const uint32_t count = std::min(interval, budget - epoch);
    trace.losses.resize(epoch + count);
    Stopwatch watch;
    training->RunEpochs(context_, epoch, count, std::span(trace.losses).last(count));
    seconds += watch.Seconds();
    epoch += count;
    trace.decisions.push_back(epoch);
    node.states.push_back(training->Read());
    const LayerState& state = node.states.back();
    bool keeps = true;
    if (shown != nullptr) {
      trace.shown.push_back(ScoreNodes(context_, dataset_.labels, shown_, LogitsOf(*shown, state)));
      keeps = best.Offer(trace.shown.back());
    }
    const auto decision = static_cast<uint32_t>(trace.decisions.size() - 1);
    trace.kept.push_back(keeps || decision == 0 ? decision : trace.kept.back());
    if (scored != nullptr) {
      trace.f1.push_back(trace.kept.back() == decision
                             ? MicroF1(context_, dataset_.labels, scored_, LogitsOf(*scored, state))
                             : trace.f1.back());
    }
  }
  trace.seconds_per_epoch = seconds / budget;
  trained_epochs_ += budget;
  node.expanded = true;
  if (node.layer + 1 == config_.layers) node.Release();
}

Matrix TraceTree::LogitsOf(const Tensor& xhat, const LayerState& state) {
  return backend_->Logits(context_, *backend_->Transform(context_, xhat, state.w), state.theta, {});
}

TraceTree::Node& TraceTree::Child(Node& node, uint32_t decision) {
  const uint32_t kept = node.trace.kept[decision];
  std::unique_ptr<Node>& child = node.children[kept];
  if (child) return *child;
  const LayerState& state = node.states[kept];
  child = std::make_unique<Node>();
  child->layer = node.layer + 1;
  child->x = backend_->Transform(context_, *node.xhat, state.w);
  if (LooksBeyondTrain()) child->x_whole = backend_->Forward(context_, *whole_graph_, *node.x_whole, state.w);
  child->previous = state;
  const std::set<uint32_t> possible(node.trace.kept.begin(), node.trace.kept.end());
  if (node.children.size() == possible.size()) node.Release();
  return *child;
}

const LayerTrace& TraceTree::Trace(const std::vector<uint32_t>& stops) {
  L2GCN_ASSERT(stops.size() < config_.layers);
  Node* node = root_.get();
  if (!node->expanded) Expand(*node);
  for (uint32_t decision : stops) {
    node = &Child(*node, decision);
    if (!node->expanded) Expand(*node);
  }
  return node->trace;
}

}  // namespace l2gcn
