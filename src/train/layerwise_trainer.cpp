#include "train/layerwise_trainer.h"

#include <algorithm>
#include <optional>

#include "core/clock.h"
#include "core/error_format.h"
#include "core/memory_meter.h"
#include "graph/build.h"
#include "graph/normalise.h"
#include "kernels/backend.h"
#include "model/backend_options.h"
#include "train/class_weights.h"
#include "train/layer_setup.h"
#include "train/training_set.h"
#include "train/validation_probe.h"

namespace l2gcn {
namespace {

class LayerwiseTrainer {
 public:
  LayerwiseTrainer(const Context& context, const Dataset& dataset, const Split& split,
                   const TrainConfig& config, StopPolicy& policy, std::vector<double>* step_losses,
                   uint32_t hops, Matrix* embeddings)
      : context_(context),
        dataset_(dataset),
        split_(split),
        config_(config),
        policy_(policy),
        step_losses_(step_losses),
        hops_(hops),
        embeddings_(embeddings),
        train_nodes_(NodesWithRole(split, Role::kTrain)),
        trained_(BeginTrained(dataset, split, config)) {}

  Trained Fit() {
    Prepare();
    for (uint32_t layer = 0; layer < config_.layers; ++layer) {
      BeginProbing(layer);
      TensorPtr xhat = Aggregate(layer);
      const LayerState state = TrainLayer(layer, xhat);
      KeepWeights(layer, state);
      if (layer + 1 < config_.layers || embeddings_ != nullptr) Transform(layer, std::move(xhat), state.w);
    }
    if (embeddings_ != nullptr) *embeddings_ = TrainRows(backend_->Download(context_, *x_));
    return Finish();
  }

 private:
  // Features, operator and targets; what touches the device is set-up time.
  void Prepare() {
    CheckTrainSplit(context_, dataset_, split_);
    inductive_ = config_.setting == "inductive";
    Stopwatch setup;
    const Features features =
        PrepareFeatures(context_, dataset_, train_nodes_, config_, trained_.model.preparation);
    backend_ = MakeBackend(context_, BackendOptionsOf(config_));
    x_ = backend_->Upload(context_, features);
    trained_.result.seconds.setup += setup.Seconds();
    if (config_.smooth > 0) Smooth();

    Stopwatch build;
    const Norm norm = ParseNorm(config_.norm);
    const Graph train_graph =
        inductive_ ? InducedSubgraph(context_, dataset_.graph, train_nodes_) : dataset_.graph;
    entries_ = train_graph.entries();
    graph_ = backend_->Upload(context_, MakePropagation(context_, train_graph, norm));
    targets_ = TargetsOf(dataset_.labels, train_nodes_);
    targets_.weights = ClassWeightsOf(context_, dataset_, train_nodes_, config_);
    if (policy_.WantsValidation() || config_.val_every > 0) {
      probe_.emplace(context_, *backend_, dataset_, split_, norm, hops_, x_);
    }
    trained_.result.seconds.setup += build.Seconds();
  }

  // Whether the rows of activations are the train nodes; else they are all nodes.
  bool HoldsTrainNodesAlone() const { return inductive_ && hops_ > 0; }

  Matrix TrainRows(const Matrix& x) const {
    if (HoldsTrainNodesAlone()) return x;
    Matrix rows = Matrix::Allocate(train_nodes_.size(), x.cols);
    for (size_t i = 0; i < rows.rows; ++i) std::copy_n(x.row(train_nodes_[i]), x.cols, rows.mutable_row(i));
    return rows;
  }

  // Features averaged over neighbours before training, over the whole graph.
  void Smooth() {
    Stopwatch watch;
    const auto whole = backend_->Upload(context_, MakePropagation(context_, dataset_.graph, Norm::kSym));
    for (uint32_t i = 0; i < config_.smooth; ++i) x_ = backend_->Forward(context_, *whole, *x_, {});
    trained_.result.seconds.aggregate += watch.Seconds();
  }

  // Before the layer's own matrices are made: what the probe drops need not stand beside them.
  void BeginProbing(uint32_t layer) {
    Stopwatch setup;
    if (probe_) probe_->BeginLayer(layer + 1 == config_.layers);
    trained_.result.seconds.setup += setup.Seconds();
  }

  TensorPtr Aggregate(uint32_t layer) {
    Report("aggregate", layer);
    Stopwatch watch;
    TensorPtr xhat = std::move(x_);
    for (uint32_t hop = 0; hop < hops_; ++hop) {
      // In layer 1 of inductive training x holds every node; the subgraph's nodes are the train nodes among
      // them.
      const bool map_rows = inductive_ && layer == 0 && hop == 0;
      xhat = backend_->Aggregate(context_, *graph_, *xhat, map_rows ? train_nodes_ : std::vector<uint32_t>{});
    }
    LayerRecord& record = trained_.result.layers.emplace_back();
    record.aggregate_seconds = watch.Seconds();
    record.sparse_input = xhat->sparse;
    if (!xhat->sparse)
      record.gathered_bytes = 4.0 * hops_ * static_cast<double>(entries_) * static_cast<double>(xhat->cols);
    trained_.result.seconds.aggregate += record.aggregate_seconds;
    if (layer == 0) context_.Note(backend_->Explain());
    return xhat;
  }

  LayerState TrainLayer(uint32_t layer, const TensorPtr& xhat) {
    Stopwatch setup;
    const uint32_t budget = config_.EpochsOf(layer);
    Array<uint32_t> samples =
        HoldsTrainNodesAlone() ? Array<uint32_t>() : Array<uint32_t>::CopyOf(train_nodes_);
    auto training =
        backend_->BeginLayer(context_, xhat, std::move(samples), targets_, LayerSpecOf(config_, layer),
                             LayerStart(config_, layer, xhat->cols, dataset_.labels.classes, theta_));
    trained_.result.seconds.setup += setup.Seconds();

    LayerRecord& record = trained_.result.layers.back();
    record.stopped_by = "budget";
    policy_.BeginLayer({layer, config_.layers, budget, epochs_done_});
    std::optional<LayerState> best;
    Stopwatch watch;
    probe_seconds_ = 0;
    while (record.epochs < budget) {
      RunUntilDecision(layer, budget, *training, watch, record);
      Observation observation{record.epochs, record.losses, {}, TrainedFor(watch)};
      if (policy_.WantsValidation()) observation.validation = Probe(layer, *training, watch, record);
      const Decision decision = policy_.Decide(observation);
      if (policy_.KeepsBest() && decision.best_so_far) {
        best = training->Read();
        record.kept_epoch = record.epochs;
      }
      if (decision.probability >= 0) record.probabilities.emplace_back(record.epochs, decision.probability);
      probability_ = decision.probability;
      if (decision.stop && record.epochs < budget) {
        record.stopped_by = policy_.Name();
        break;
      }
    }
    if (!best) record.kept_epoch = record.epochs;
    record.train_seconds = watch.Seconds() - probe_seconds_;
    trained_.result.seconds.evaluate += probe_seconds_;
    trained_.result.seconds.train += record.train_seconds;
    epochs_done_ += record.epochs;
    LayerState state = best ? std::move(*best) : training->Read();
    record.flops = FlopsOf(record.epochs, *xhat, state);
    return state;
  }

  // Seconds of training up to now; `watch` runs since the layer began.
  double TrainedFor(const Stopwatch& watch) const {
    const PhaseSeconds& done = trained_.result.seconds;
    return done.aggregate + done.train + done.transform + watch.Seconds() - probe_seconds_;
  }

  // Validation score of the layer as it stands, off the clock and off the memory meter.
  ValidationScore Probe(uint32_t layer, const LayerTraining& training, const Stopwatch& watch,
                        const LayerRecord& record) {
    const double clock = TrainedFor(watch);
    peak_.Pause();
    Stopwatch probing;
    const LayerState state = training.Read();
    const ValidationScore score = probe_->Score(state.w, state.theta);
    trained_.result.validation.push_back({clock, layer + 1, record.epochs, score.f1});
    probe_seconds_ += probing.Seconds();
    peak_.Resume();
    return score;
  }

  // Epochs up to the policy's next decision, in stretches short enough to report and to be interrupted.
  void RunUntilDecision(uint32_t layer, uint32_t budget, LayerTraining& training, const Stopwatch& watch,
                        LayerRecord& record) {
    const uint32_t target =
        std::min(budget, record.epochs + std::max(1u, policy_.EpochsUntilDecision(record.epochs)));
    while (record.epochs < target) {
      const double per_epoch = record.epochs == 0 ? kSecondsBetweenReports : watch.Seconds() / record.epochs;
      const double affordable =
          context_.on_progress ? kSecondsBetweenReports / std::max(per_epoch, 1e-9) : 1e9;
      auto count = static_cast<uint32_t>(std::clamp<double>(affordable, 1, target - record.epochs));
      if (config_.val_every > 0)
        count = std::min(count, config_.val_every - record.epochs % config_.val_every);
      record.losses.resize(record.epochs + count);
      training.RunEpochs(context_, record.epochs, count, std::span(record.losses).last(count), step_losses_);
      record.epochs += count;
      if (config_.val_every > 0 && record.epochs % config_.val_every == 0)
        Probe(layer, training, watch, record);
      Report("train", layer, budget, watch.Seconds() - probe_seconds_, &record);
    }
  }

  void KeepWeights(uint32_t layer, const LayerState& state) {
    trained_.model.weights.push_back(state.w);
    theta_ = state;
    if (layer + 1 == config_.layers) trained_.model.theta = state.theta;
  }

  void Transform(uint32_t layer, TensorPtr xhat, const Matrix& w) {
    Report("transform", layer);
    Stopwatch watch;
    x_ = backend_->Transform(context_, *xhat, w);
    xhat.reset();
    LayerRecord& record = trained_.result.layers.back();
    record.transform_seconds = watch.Seconds();
    trained_.result.seconds.transform += record.transform_seconds;
    Stopwatch probing;
    if (probe_ && layer + 1 < config_.layers) probe_->EndLayer(w);
    trained_.result.seconds.evaluate += probing.Seconds();
  }

  Trained Finish() {
    trained_.result.peak_device_bytes = backend_->PeakDeviceBytes();
    trained_.result.peak_rss_bytes = peak_.Peak();
    return std::move(trained_);
  }

  // Forward and both weight gradients; no gradient to the input.
  double FlopsOf(uint32_t epochs, const Tensor& xhat, const LayerState& state) const {
    const double batch = std::min<double>(config_.batch, static_cast<double>(train_nodes_.size()));
    const double samples =
        config_.drop_last ? batch * static_cast<double>(static_cast<uint64_t>(train_nodes_.size() / batch))
                          : static_cast<double>(train_nodes_.size());
    const double hidden = static_cast<double>(state.w.cols), classes = static_cast<double>(state.theta.cols);
    const double inputs = xhat.sparse ? static_cast<double>(xhat.nonzeros) / static_cast<double>(xhat.rows)
                                      : static_cast<double>(xhat.cols);
    return epochs * samples * (4 * inputs * hidden + 6 * hidden * classes);
  }

  void Report(const char* phase, uint32_t layer, uint32_t budget = 0, double seconds = 0,
              const LayerRecord* record = nullptr) const {
    context_.CheckCancelled();
    if (!context_.on_progress) return;
    Progress progress;
    progress.phase = phase;
    progress.layer = layer + 1;
    progress.layers = config_.layers;
    progress.epochs = budget;
    if (record != nullptr) {
      progress.epoch = record->epochs;
      progress.loss = record->losses.back();
      progress.nodes_per_second =
          static_cast<double>(train_nodes_.size()) * record->epochs / std::max(seconds, 1e-9);
      progress.seconds_left = seconds / record->epochs * (budget - record->epochs);
      progress.stop_probability = probability_;
    }
    context_.on_progress(progress);
  }

  const Context& context_;
  const Dataset& dataset_;
  const Split& split_;
  const TrainConfig& config_;
  StopPolicy& policy_;
  std::vector<double>* step_losses_;
  const uint32_t hops_;
  Matrix* embeddings_;
  const std::vector<uint32_t> train_nodes_;
  bool inductive_ = true;
  std::unique_ptr<Backend> backend_;
  DeviceGraphPtr graph_;  // Â that training uses
  uint64_t entries_ = 0;  // of its adjacency
  TensorPtr x_;           // X of the layer at hand
  Targets targets_;       // of train_nodes_
  LayerState theta_;      // Θ and its moments from the layer before
  std::optional<ValidationProbe> probe_;
  uint32_t epochs_done_ = 0;
  double probability_ = -1;
  double probe_seconds_ = 0;  // spent scoring in the layer at hand
  PeakMeter peak_;
  Trained trained_;
};

}  // namespace

std::vector<uint32_t> NodesWithRole(const Split& split, Role role) {
  std::vector<uint32_t> nodes;
  for (size_t i = 0; i < split.roles.size(); ++i) {
    if (split.roles[i] == static_cast<uint8_t>(role)) nodes.push_back(static_cast<uint32_t>(i));
  }
  return nodes;
}

void CheckTrainSplit(const Context& context, const Dataset& dataset, const Split& split) {
  const std::vector<uint32_t> train = NodesWithRole(split, Role::kTrain);
  if (train.empty()) {
    ThrowInput("{}: split '{}' has no train node; choose another with --split", dataset.name, split.name);
  }
  std::vector<uint64_t> members(dataset.labels.classes, 0);
  for (uint32_t node : train) {
    if (!dataset.labels.multilabel) ++members[static_cast<size_t>(dataset.labels.classes_of[node])];
    for (uint32_t c = 0; dataset.labels.multilabel && c < dataset.labels.classes; ++c) {
      members[c] += dataset.labels.matrix[size_t{node} * dataset.labels.classes + c];
    }
  }
  for (uint32_t c = 0; c < dataset.labels.classes; ++c) {
    if (members[c] == 0) {
      context.Warn(fmt::format("class {} has no train node in split '{}': it cannot be learned",
                               dataset.ClassName(c), split.name));
    }
  }
}

Trained FitLayerwise(const Context& context, const Dataset& dataset, const Split& split,
                     const TrainConfig& config, StopPolicy& policy, std::vector<double>* step_losses,
                     uint32_t hops, Matrix* embeddings) {
  return LayerwiseTrainer(context, dataset, split, config, policy, step_losses, hops, embeddings).Fit();
}

}  // namespace l2gcn
