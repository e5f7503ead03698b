#include "train/layerwise_trainer.h"

#include <limits>
#include <memory>
#include <optional>

#include "core/clock.h"
#include "core/disk_memory.h"
#include "core/memory_meter.h"
#include "kernels/backend.h"
#include "train/class_weights.h"
#include "train/epoch_loop.h"
#include "train/evaluator.h"
#include "train/layer_in_training.h"
#include "train/layer_setup.h"
#include "train/layerwise_progress.h"

namespace l2gcn {
namespace {

// Nodes that train, validate or test, ascending.
std::vector<uint32_t> NodesInParts(const Split& split) {
  std::vector<uint32_t> nodes;
  for (uint32_t node = 0; node < split.roles.size(); ++node) {
    if (split.roles[node] != static_cast<uint8_t>(Role::kNone)) nodes.push_back(node);
  }
  return nodes;
}

class LayerwiseTrainer {
 public:
  LayerwiseTrainer(const Context& context, const Dataset& dataset, const SplitNodes& nodes,
                   const TrainConfig& config, StopPolicy& policy, const LayerwiseOptions& options)
      : context_(context),
        dataset_(dataset),
        nodes_(nodes),
        config_(config),
        policy_(policy),
        options_(options),
        pipeline_(options.pipeline) {
    progress_.trained = BeginTrained(dataset, nodes.split, config);
  }

  TrainedSeed Fit() {
    Prepare();
    for (uint32_t layer = Resume(); layer < config_.layers; ++layer) {
      LayerInput xhat = Aggregate(layer);
      const LayerState state = TrainLayer(layer, xhat);
      KeepWeights(layer, state);
      if (layer + 1 < config_.layers || options_.embeddings != nullptr) {
        Transform(layer, std::move(xhat), state.hidden());
      } else if (LeavesLastInput()) {
        pipeline_->KeepLastInput(state.hidden(), std::move(xhat));
      }
    }
    if (options_.embeddings != nullptr) {
      *options_.embeddings = pipeline_->TrainRows(context_, *x_, options_.hops);
    }
    return Finish();
  }

 private:
  SeedResult& result() { return progress_.trained.result; }

  // Whether what training computes for every node serves evaluation, which would compute the same bits again. Basic
  // layers multiply before they aggregate where that is less work.
  bool LeavesOutputs() const {
    return options_.hops == 1 && !HasBasicLayers(config_) && pipeline_->HoldsEveryNode(context_);
  }
  bool LeavesLastInput() const {
    const bool from_disk = !pipeline_->inductive() && options_.hops == 1 && context_.disk != nullptr &&
                           context_.ranks == nullptr;
    return from_disk || LeavesOutputs();
  }

  // Features, operator and targets; what touches the device is set-up time.
  void Prepare() {
    CheckTrainSplit(context_, dataset_, nodes_);
    Stopwatch setup;
    if (pipeline_ == nullptr) {
      pipeline_ = std::make_shared<LayerPipeline>(context_, dataset_, config_, nodes_.train);
    }
    progress_.trained.model.preparation = pipeline_->preparation();
    progress_.trained.model.schema = pipeline_->schema();
    const double smoothed_before = pipeline_->smooth_seconds();
    x_ = pipeline_->Input(context_);
    const double smoothing = pipeline_->smooth_seconds() - smoothed_before;
    if (options_.hops == 1 && options_.embeddings == nullptr)
      pipeline_->NeedLastRowsOf(context_, NodesInParts(nodes_.split));
    pipeline_->TrainOperator(context_);
    targets_ = TargetsOf(dataset_.labels, nodes_.train, config_.loss);
    targets_.weights = ClassWeightsOf(context_, dataset_, nodes_.train, config_);
    evaluator_.emplace(context_, *pipeline_, dataset_, nodes_, config_, options_.hops,
                       policy_.WantsValidation() || config_.val_every > 0, policy_.WantsNodeLosses());
    job_.emplace(
        LayerwiseJob{context_, dataset_, nodes_, config_, options_, *pipeline_, *evaluator_, targets_});
    pipeline_->ReleaseInput();
    ReturnFreeMemory();
    result().seconds.setup += setup.Seconds() - smoothing;
    memory_.End(result().resident.setup);
    result().seconds.aggregate += smoothing;
  }

  // Where a snapshot says that layers are done, their activations are computed again from their weights. Returns
  // the layer to go on with.
  uint32_t Resume() {
    resumed_ = options_.checkpointer != nullptr ? options_.checkpointer->Start() : nullptr;
    if (resumed_ == nullptr) return 0;
    Stopwatch setup;
    const LayerwiseShape shape{config_, x_->cols, dataset_.labels.classes};
    const uint32_t layer = RestoreProgress(*resumed_, shape, progress_, layer_);
    for (uint32_t done = 0; done < layer; ++done) {
      context_.CheckCancelled();
      const HiddenParameters& hidden = progress_.trained.model.layers[done];
      evaluator_->BeginLayer(done, false);
      const LayerInput xhat = pipeline_->Aggregate(context_, done, std::move(x_), options_.hops);
      x_ = pipeline_->Transform(context_, xhat, hidden);
      LeaveOutput(hidden);
      evaluator_->EndLayer(hidden);
    }
    result().seconds.setup += setup.Seconds();
    memory_.End(result().resident.setup);
    return layer;
  }

  LayerInput Aggregate(uint32_t layer) {
    const Stopwatch evaluating;
    evaluator_->BeginLayer(layer, layer + 1 == config_.layers);
    if (evaluator_->scores()) result().seconds.validate += evaluating.Seconds();
    if (resumed_ == nullptr) layer_ = {};
    Report("aggregate", layer);
    if (config_.FindsRate() && resumed_ == nullptr) {
      const Stopwatch setup;
      LayerInTraining(*job_, layer, progress_, layer_).EstimateSchedule(*x_);
      result().seconds.setup += setup.Seconds();
    }
    const Stopwatch watch;
    LayerInput xhat = pipeline_->Aggregate(context_, layer, std::move(x_), options_.hops);
    evaluator_->SetInput(xhat);
    SeedResult::Layer& record = layer_.epochs.record;
    record.aggregate_seconds = watch.Seconds();
    record.sparse_input = xhat.sparse();
    if (!xhat.sparse()) {
      const auto entries = static_cast<double>(pipeline_->EntriesIn(context_, layer));
      const uint32_t hops = BlocksOfHops(config_) > 1 ? config_.hops : options_.hops;
      record.gathered_bytes = 4.0 * hops * entries * static_cast<double>(xhat.blocks.back()->cols);
    }
    result().seconds.aggregate += record.aggregate_seconds;
    memory_.End(result().resident.aggregate);
    if (layer == 0) context_.Note(pipeline_->backend().Explain());
    return xhat;
  }

  LayerState TrainLayer(uint32_t layer, const LayerInput& xhat) {
    Stopwatch setup;
    const uint32_t budget = config_.EpochsOf(layer);
    const Snapshot* const snapshot = std::exchange(resumed_, nullptr);
    LayerInTraining current(*job_, layer, progress_, layer_);
    current.SetInput(xhat);
    policy_.BeginLayer(current.View());
    if (snapshot != nullptr) policy_.Restore(snapshot->TakeNumbers("policy"));
    if (snapshot != nullptr && snapshot->state.value("finished", false))
      return current.StartingWeights(snapshot);  // an earlier process trained it
    current.Begin(snapshot);
    result().seconds.setup += setup.Seconds();

    SeedResult::Layer& record = layer_.epochs.record;
    record.rate = config_.FindsRate() ? layer_.rate : *config_.lr;
    EpochLoop loop({context_, config_, policy_, options_.checkpointer, peak_, result(), layer, config_.layers,
                    progress_.epochs_done, nodes_.train.size()},
                   current, layer_.epochs);
    const bool stopped = !layer_.cooling_down && loop.Run(budget, layer_.schedule.begin);
    if (stopped && CoolsDown(layer)) current.BeginCoolDown(budget);
    record.stopped_by = stopped || layer_.cooling_down ? policy_.Name() : "budget";
    if (layer_.cooling_down) CoolDown(budget, current, loop);
    if (!layer_.best) record.kept_epoch = record.epochs;
    record.train_seconds = loop.TrainSeconds();
    result().seconds.validate += layer_.epochs.evaluate_seconds;
    result().seconds.train += record.train_seconds;
    const LayerState state = current.FinalWeights();
    record.flops = current.Flops(state);
    memory_.End(result().resident.train);
    KeepFinishedLayer(layer, state);
    return state;
  }

  // Whether a layer that the rule ended trains on while its rate decays. Inner layers do not, because a cool-down would not help
  // the next layer.
  bool CoolsDown(uint32_t layer) const { return config_.FindsRate() && layer + 1 == config_.layers; }

  // The rule decides whether to keep the weights of the cool-down, unless its evaluation nodes took part in the steps.
  void CoolDown(uint32_t budget, const LayerInTraining& current, EpochLoop& loop) {
    loop.RunTo(budget, layer_.schedule.end);
    if (current.GivesBack()) {
      layer_.best.reset();
    } else if (policy_.KeepsBest()) {
      loop.Decide();
    }
  }

  // A run from disk takes long: its checkpoint has every layer as soon as it is trained.
  void KeepFinishedLayer(uint32_t layer, const LayerState& state) {
    if (options_.checkpointer == nullptr || context_.disk == nullptr) return;
    Snapshot snapshot;
    layer_.epochs.Save(layer_.epochs.record.train_seconds + layer_.epochs.evaluate_seconds, snapshot);
    SaveProgress(progress_, layer_, layer, state, true, snapshot);
    snapshot.AddNumbers("policy", policy_.Memory());
    options_.checkpointer->Keep(snapshot);
  }

  void KeepWeights(uint32_t layer, const LayerState& state) {
    Model& model = progress_.trained.model;
    model.layers.push_back(state.hidden());
    progress_.previous = state;
    progress_.epochs_done += layer_.epochs.record.epochs;
    if (!HasBasicLayers(config_)) {
      model.heads.push_back(state.head());
    } else if (layer + 1 == config_.layers) {
      model.theta = state["classifier"].value;
    }
    result().layers.push_back(std::move(layer_.epochs.record));
  }

  void Transform(uint32_t layer, LayerInput xhat, const HiddenParameters& hidden) {
    Report("transform", layer);
    const Stopwatch watch;
    x_ = pipeline_->Transform(context_, xhat, hidden);
    LeaveOutput(hidden);
    xhat = {};
    SeedResult::Layer& record = result().layers.back();
    record.transform_seconds = watch.Seconds();
    result().seconds.transform += record.transform_seconds;
    memory_.End(result().resident.transform);
    if (layer + 1 == config_.layers) return;
    const Stopwatch evaluating;
    const double spared = evaluator_->EndLayer(hidden);  // of evaluation
    if (evaluator_->scores()) result().seconds.validate += evaluating.Seconds() - spared;
    result().seconds.evaluate += spared;
  }

  // The next layer reads the output as a block of its own input, so that it takes no memory of its own.
  void LeaveOutput(const HiddenParameters& hidden) {
    if (LeavesOutputs()) pipeline_->KeepWhole(hidden, x_, std::numeric_limits<size_t>::max());
  }

  TrainedSeed Finish() {
    result().peak_device_bytes = pipeline_->backend().PeakDeviceBytes();
    result().peak_rss_bytes = peak_.Peak();
    return {std::move(progress_.trained), pipeline_};
  }

  // Reports phases other than the training of a layer, which reports itself.
  void Report(const char* phase, uint32_t layer) const {
    context_.CheckCancelled();
    if (!context_.on_progress) return;
    Progress progress;
    progress.phase = phase;
    progress.layer = layer + 1;
    progress.layers = config_.layers;
    context_.on_progress(progress);
  }

  const Context& context_;
  const Dataset& dataset_;
  const SplitNodes& nodes_;
  const TrainConfig& config_;
  StopPolicy& policy_;
  const LayerwiseOptions& options_;
  std::shared_ptr<LayerPipeline> pipeline_;
  Targets targets_;  // labels of the train nodes
  TensorPtr x_;      // X of the current layer
  std::optional<Evaluator> evaluator_;
  std::optional<LayerwiseJob> job_;
  PeakMeter peak_;
  StretchMeter memory_;                // since the last phase
  const Snapshot* resumed_ = nullptr;  // until the layer it is of has begun
  LayerwiseProgress progress_;
  LayerProgress layer_;
};

}  // namespace

TrainedSeed FitLayerwise(const Context& context, const Dataset& dataset, const SplitNodes& nodes,
                         const TrainConfig& config, StopPolicy& policy, const LayerwiseOptions& options) {
  return LayerwiseTrainer(context, dataset, nodes, config, policy, options).Fit();
}

}  // namespace l2gcn
