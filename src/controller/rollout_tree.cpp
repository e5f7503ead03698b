#include "controller/rollout_tree.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "controller/learned_stop.h"
#include "core/clock.h"
#include "core/error_format.h"
#include "model/metrics.h"
#include "train/epoch_loop.h"
#include "train/evaluator.h"
#include "train/layer_rate.h"
#include "train/layer_setup.h"
#include "train/training_set.h"

namespace l2gcn {

struct RolloutTree::Node {
  uint32_t layer = 0;
  TensorPtr x;        // activations entering the layer: every node in layer 1, then those that train
  TensorPtr x_whole;  // activations of every node, where others than train nodes are looked at
  LayerState previous;
  bool expanded = false;
  LayerInput xhat;  // aggregated, the nodes that train
  LayerTrace trace;
  std::vector<LayerState> states;                      // at each decision
  std::map<uint32_t, std::unique_ptr<Node>> children;  // by the decision whose weights are kept

  void Release() {
    x = x_whole = nullptr;
    xhat = {};
    states.clear();
    previous = {};
  }
};

namespace {

Context Silent(Context context) {
  context.on_progress = nullptr;
  context.on_note = nullptr;
  context.on_warning = nullptr;
  return context;
}

// A layer of a rollout: no rule ends it, and what it is like at each decision is recorded.
class RolloutLayer final : public EpochSubject, public StopPolicy {
 public:
  RolloutLayer(const Context& context, LayerTraining& training, uint32_t interval,
               std::function<void(uint32_t epoch)> record)
      : context_(context), training_(training), interval_(interval), record_(std::move(record)) {}
  double seconds() const { return seconds_; }  // of training alone

  void RunEpochs(uint32_t first, uint32_t count, std::span<double> losses) override {
    const Stopwatch watch;
    training_.RunEpochs(context_, first, count, losses);
    seconds_ += watch.Seconds();
  }
  uint64_t StepsPerEpoch() const override { return 0; }
  Observation::Validation ScoreValidation() override { L2GCN_ASSERT(false); }
  RowScores ScoreEvaluationNodes() override { L2GCN_ASSERT(false); }
  void KeepBest() override {}
  void Save(Snapshot&) const override {}

  void BeginLayer(const LayerView&) override {}
  uint32_t EpochsUntilDecision(uint32_t) const override { return interval_; }
  Decision Decide(const Observation& observation) override {
    record_(observation.epoch);
    return {};
  }
  std::string Name() const override { return "rollout"; }

 private:
  const Context& context_;
  LayerTraining& training_;
  uint32_t interval_;
  std::function<void(uint32_t)> record_;
  double seconds_ = 0;
};

}  // namespace

RolloutTree::RolloutTree(const Context& context, const Dataset& dataset, const TrainConfig& config,
                         std::vector<uint32_t> train, std::vector<uint32_t> scored,
                         std::vector<uint32_t> shown)
    : context_(Silent(context)),
      dataset_(dataset),
      config_(config),
      scored_(std::move(scored)),
      shown_(std::move(shown)),
      pipeline_(context_, dataset, config_, std::move(train)) {
  if (config_.self_features)
    ThrowUsage("--self-features: a controller is learned on layers over ÂX alone; leave it out");
  config_.val_every = 0;  // a rollout scores nodes at its decisions alone
  if (!scored_.empty()) scored_rows_ = pipeline_.WholeRows(context_, scored_).front();
  if (!shown_.empty()) shown_rows_ = pipeline_.WholeRows(context_, shown_).front();
  targets_ = TargetsOf(dataset_.labels, pipeline_.train_nodes());
  prior_loss_ = PriorLoss(dataset_.labels);
  root_ = std::make_unique<Node>();
  root_->x = pipeline_.Input(context_);
  root_->x_whole = root_->x;
  pipeline_.ReleaseInput();
}

RolloutTree::~RolloutTree() = default;

uint32_t RolloutTree::TotalBudget() const {
  uint32_t total = 0;
  for (uint32_t layer = 0; layer < config_.layers; ++layer) total += config_.EpochsOf(layer);
  return total;
}

// With the rate that the program would find for the layer, where the configuration leaves it to the program.
LayerSpec RolloutTree::SpecOf(const Node& node) {
  LayerSpec spec = LayerSpecOf(config_, node.layer);
  if (!config_.FindsRate()) return spec;
  const std::span<const uint32_t> rows =
      node.layer == 0 ? pipeline_.InputRows() : std::span<const uint32_t>();
  const auto nodes = static_cast<double>(pipeline_.train_nodes().size());
  const double steps = config_.EpochsOf(node.layer) * std::max(1.0, std::ceil(nodes / config_.batch));
  spec.lr = static_cast<float>(
      EstimateRate(context_, pipeline_.backend(), *node.x, rows, spec.architecture, nodes, steps, {}));
  return spec;
}

void RolloutTree::Expand(Node& node) {
  node.xhat = pipeline_.Aggregate(context_, node.layer, node.x);
  const auto aggregated = [&](const DeviceGraphPtr& rows) {
    return rows == nullptr ? nullptr : pipeline_.backend().Aggregate(context_, *rows, *node.x_whole, {});
  };
  const TensorPtr scored = aggregated(scored_rows_), shown = aggregated(shown_rows_);
  const LayerState start =
      LayerStart(config_, node.layer, node.xhat.cols(), dataset_.labels.classes, node.previous);
  auto training = pipeline_.backend().BeginLayer(context_, node.xhat, pipeline_.SampleRows(), targets_,
                                                 SpecOf(node), start);
  const uint32_t budget = config_.EpochsOf(node.layer), interval = GeneralInterval(budget);
  LayerTrace& trace = node.trace;
  BestDecision best;
  RolloutLayer rollout(context_, *training, interval, [&](uint32_t epoch) {
    trace.decisions.push_back(epoch);
    node.states.push_back(training->Read());
    Record(node, scored, shown, best);
  });
  PeakMeter peak;
  SeedResult result;
  EpochProgress progress;
  EpochLoop({context_, config_, rollout, nullptr, peak, result, node.layer, config_.layers, 0,
             pipeline_.train_nodes().size()},
            rollout, progress)
      .Run(budget, budget);
  trace.losses = std::move(progress.record.losses);
  trace.seconds_per_epoch = rollout.seconds() / budget;
  trained_epochs_ += budget;
  node.expanded = true;
  if (node.layer + 1 == config_.layers) node.Release();
}

void RolloutTree::Record(Node& node, const TensorPtr& scored, const TensorPtr& shown, BestDecision& best) {
  const LayerState& state = node.states.back();
  const auto logits = [&](const TensorPtr& xhat) { return pipeline_.LayerLogits(context_, xhat, state); };
  LayerTrace& trace = node.trace;
  bool keeps = true;
  if (shown != nullptr) {
    trace.shown.push_back(ScoreNodes(context_, dataset_.labels, shown_, logits(shown)));
    keeps = best.Offer(trace.shown.back());
  }
  const auto decision = static_cast<uint32_t>(trace.decisions.size() - 1);
  trace.kept.push_back(keeps || decision == 0 ? decision : trace.kept.back());
  if (scored == nullptr) return;
  const bool kept = trace.kept.back() == decision;
  trace.f1.push_back(kept ? MicroF1(context_, dataset_.labels, scored_, logits(scored)) : trace.f1.back());
}

RolloutTree::Node& RolloutTree::Child(Node& node, uint32_t decision) {
  const uint32_t kept = node.trace.kept[decision];
  std::unique_ptr<Node>& child = node.children[kept];
  if (child) return *child;
  const LayerState& state = node.states[kept];
  child = std::make_unique<Node>();
  child->layer = node.layer + 1;
  child->x = pipeline_.Transform(context_, node.xhat, state.hidden());
  if (EvaluatesBeyondTrain())
    child->x_whole = pipeline_.ForwardWhole(context_, node.layer, node.x_whole, state.hidden());
  child->previous = state;
  const std::set<uint32_t> possible(node.trace.kept.begin(), node.trace.kept.end());
  if (node.children.size() == possible.size()) node.Release();
  return *child;
}

const LayerTrace& RolloutTree::Trace(const std::vector<uint32_t>& stops) {
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
