#include "train/layerwise_trainer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>

#include "core/clock.h"
#include "core/disk_memory.h"
#include "core/error_format.h"
#include "core/memory_meter.h"
#include "kernels/backend.h"
#include "model/counts.h"
#include "model/metrics.h"
#include "ranks/collectives.h"
#include "train/class_weights.h"
#include "train/layer_rate.h"
#include "train/layer_setup.h"
#include "train/layerwise_progress.h"
#include "train/looked_nodes.h"
#include "train/refinement.h"
#include "train/validation_probe.h"

namespace l2gcn {
namespace {

// What the steps of a layer draw from.
struct Drawn {
  Array<uint32_t> samples;  // row of each sample in X̂; empty: row s
  Targets targets;
  uint64_t count = 0;
};

// Of a layer whose loss is no longer finite, at most so much training is done again to find the step.
constexpr double kSecondsToFindStep = 20;

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

  Trained Fit() {
    Prepare();
    const uint32_t first = GoOn();
    for (uint32_t layer = first; layer < config_.layers; ++layer) {
      held_rows_.reset();
      BeginProbing(layer);
      TensorPtr xhat = Aggregate(layer);
      const LayerState state = TrainLayer(layer, xhat);
      KeepWeights(layer, state);
      if (layer + 1 < config_.layers || options_.embeddings != nullptr) {
        Transform(layer, std::move(xhat), state.block());
      } else if (!pipeline_->inductive() && options_.hops == 1 && context_.disk != nullptr &&
                 context_.ranks == nullptr) {
        pipeline_->KeepLastInput(std::move(xhat));
      }
    }
    if (options_.embeddings != nullptr) {
      *options_.embeddings = pipeline_->TrainRows(context_, *x_, options_.hops);
    }
    return Finish();
  }

 private:
  SeedResult& result() { return progress_.trained.result; }
  // Of the layer at hand.
  LayerMoves& moves() { return progress_.trained.moves.back(); }
  LayerState StateOf(const LayerTraining& training) {
    ++moves().states;
    return training.Read();
  }
  // Nodes were scored by the weights as they were.
  void CountLook(uint64_t nodes) {
    ++moves().looks;
    ++moves().states;
    moves().scored += nodes;
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
    targets_ = TargetsOf(dataset_.labels, nodes_.train);
    targets_.weights = ClassWeightsOf(context_, dataset_, nodes_.train, config_);
    if (policy_.WantsLooks()) looked_ = ChooseLookedNodes(config_, dataset_, nodes_);
    if (policy_.WantsValidation() || config_.val_every > 0) {
      CheckValidationNodes(dataset_, nodes_);
      probe_.emplace(context_, *pipeline_, dataset_, nodes_.val, options_.hops);
    } else if (!looked_.validation.empty()) {
      BeginLooking();
    }
    pipeline_->ReleaseInput();
    ReturnFreeMemory();
    result().seconds.setup += setup.Seconds() - smoothing;
    memory_.End(result().resident.setup);
    result().seconds.aggregate += smoothing;
  }

  // A probe that prepares no more validation nodes than decisions look at.
  void BeginLooking() {
    std::vector<uint32_t> labelled, seen;
    std::copy_if(nodes_.val.begin(), nodes_.val.end(), std::back_inserter(labelled),
                 [&](uint32_t node) { return dataset_.labels.IsLabelled(node); });
    for (const uint32_t place : looked_.validation) seen.push_back(labelled[place]);
    std::iota(looked_.validation.begin(), looked_.validation.end(), 0u);
    probe_.emplace(context_, *pipeline_, dataset_, seen, options_.hops);
  }

  // Where a snapshot says that layers are done, their activations are made again from their weights. Returns
  // the layer to go on with.
  uint32_t GoOn() {
    const Snapshot* start = options_.keeper != nullptr ? options_.keeper->Start() : nullptr;
    if (start == nullptr) return 0;
    Stopwatch setup;
    const LayerwiseShape shape{config_, x_->cols, pipeline_->InputCopies(), dataset_.labels.classes};
    const uint32_t layer = RestoreProgress(*start, shape, progress_, layer_);
    for (uint32_t done = 0; done < layer; ++done) {
      context_.CheckCancelled();
      const Model& model = progress_.trained.model;
      const DenseBlock block(model.weights[done], model.affines.empty() ? Matrix() : model.affines[done]);
      if (probe_) probe_->BeginLayer(false);
      const TensorPtr xhat = pipeline_->Aggregate(context_, done, std::move(x_), options_.hops);
      x_ = pipeline_->Transform(context_, *xhat, block);
      if (probe_) probe_->EndLayer(block);
    }
    resumed_ = start;
    result().seconds.setup += setup.Seconds();
    memory_.End(result().resident.setup);
    return layer;
  }

  void KeepSnapshot(uint32_t layer, const LayerTraining& training, const Stopwatch& watch) {
    if (options_.keeper == nullptr || !options_.keeper->Due(progress_.epochs_done + layer_.record.epochs))
      return;
    const LayerState state = StateOf(training);
    CheckWeights(state.w, layer + 1, layer_.record.epochs, config_);
    WriteSnapshot(layer, state, watch, false);
  }

  // Where activations are kept over a kill, so are the weights that the next ones are made with: what went before need
  // not be computed again.
  void KeepFinishedLayer(uint32_t layer, const LayerState& state, const Stopwatch& watch) {
    if (options_.keeper == nullptr || context_.disk == nullptr || context_.disk->kept() == nullptr) return;
    layer_.best.reset();
    WriteSnapshot(layer, state, watch, true);
  }

  void WriteSnapshot(uint32_t layer, const LayerState& state, const Stopwatch& watch, bool finished) {
    Snapshot snapshot =
        SnapshotOf(progress_, layer_, layer, state, layer_.seconds_before + watch.Seconds(), finished);
    snapshot.AddNumbers("policy", policy_.Memory());
    options_.keeper->Keep(snapshot);
  }

  std::unique_ptr<LayerTraining> BeginLayer(uint32_t layer, const TensorPtr& xhat, const LayerState& start) {
    const Drawn drawn = DrawnFrom(layer);
    steps_per_epoch_ = StepsPerEpoch(drawn.count);
    ++moves().begun;
    moves().samples = drawn.count;
    return pipeline_->backend().BeginLayer(context_, xhat, drawn.samples, drawn.targets, SpecOf(layer),
                                           start);
  }

  LayerSpec SpecOf(uint32_t layer) const {
    LayerSpec spec = LayerSpecOf(config_, layer);
    if (!config_.FindsRate()) return spec;
    spec.lr = static_cast<float>(layer_.rate);
    spec.course = layer_.course;
    return spec;
  }

  // All train nodes but those held out, which come back as the last layer lands.
  Drawn DrawnFrom(uint32_t layer) const {
    Array<uint32_t> rows = pipeline_->SampleRows(layer, options_.hops);
    if (looked_.held.empty() || GivesBack()) return {rows, targets_, nodes_.train.size()};
    Array<uint32_t> samples = Array<uint32_t>::Allocate(looked_.others.size());
    std::vector<uint32_t> nodes;
    for (size_t i = 0; i < looked_.others.size(); ++i) {
      samples.mutable_data()[i] = rows.empty() ? looked_.others[i] : rows[looked_.others[i]];
      nodes.push_back(nodes_.train[looked_.others[i]]);
    }
    Targets targets = TargetsOf(dataset_.labels, nodes);
    targets.weights = targets_.weights;
    return {std::move(samples), std::move(targets), looked_.others.size()};
  }
  // Nodes that the steps draw from.
  size_t TrainedNodes() const { return looked_.held.empty() ? nodes_.train.size() : looked_.others.size(); }
  bool GivesBack() const { return !looked_.held.empty() && layer_.landing; }

  // The level of the layer's rate, and its fall over the last part of the budget.
  void FindRate(uint32_t layer) {
    Stopwatch setup;
    const uint32_t budget = config_.EpochsOf(layer);
    const std::span<const uint32_t> rows =
        layer == 0 && pipeline_->inductive() ? pipeline_->InputRows() : std::span<const uint32_t>();
    const uint64_t samples = TrainedNodes();
    layer_.rate = EstimateRate(context_, pipeline_->backend(), *x_, rows, SpecOf(layer).form,
                               static_cast<double>(samples),
                               static_cast<double>(budget * StepsPerEpoch(samples)), options_.course);
    const auto fall = static_cast<uint32_t>(std::ceil(options_.course.last_part * budget));
    layer_.course = {budget - std::min(budget, fall), budget};
    result().seconds.setup += setup.Seconds();
  }

  // What a layer starts with: fresh weights, or those of the snapshot.
  LayerState StartOf(uint32_t layer, size_t inputs) {
    const size_t classes = dataset_.labels.classes;
    const Snapshot* snapshot = begun_.snapshot;
    if (snapshot == nullptr) return LayerStart(config_, layer, inputs, classes, progress_.previous);
    try {
      if (snapshot->Has("best.w"))
        layer_.best = snapshot->TakeLayer("best", inputs, config_.HiddenOf(layer), classes, FormOf(config_));
      return snapshot->TakeLayer("current", inputs, config_.HiddenOf(layer), classes, FormOf(config_));
    } catch (const nlohmann::json::exception& error) {
      ThrowInput("the checkpoint is damaged: {}", error.what());
    }
  }

  // This comes before the layer's own matrices are made, so that what the probe drops need not stand beside
  // them.
  void BeginProbing(uint32_t layer) {
    Stopwatch looking;
    progress_.trained.moves.resize(layer + 1);
    if (probe_ && pipeline_->inductive()) moves().probed = probe_->nodes();
    if (probe_) probe_->BeginLayer(layer + 1 == config_.layers);
    if (probe_) result().seconds.looks += looking.Seconds();
  }

  TensorPtr Aggregate(uint32_t layer) {
    if (resumed_ == nullptr) layer_ = {};
    Report("aggregate", layer);
    if (config_.FindsRate() && resumed_ == nullptr) FindRate(layer);
    Stopwatch watch;
    TensorPtr xhat = pipeline_->Aggregate(context_, layer, std::move(x_), options_.hops);
    if (probe_) probe_->ShareInput(layer, xhat);
    LayerRecord& record = layer_.record;
    record.aggregate_seconds = watch.Seconds();
    record.sparse_input = xhat->sparse;
    if (!xhat->sparse) {
      const auto entries = static_cast<double>(pipeline_->EntriesIn(context_, layer));
      const size_t copies = pipeline_->InputCopies(), hops = copies > 1 ? copies - 1 : options_.hops;
      record.gathered_bytes =
          4.0 * static_cast<double>(hops) * entries * static_cast<double>(xhat->cols / copies);
    }
    result().seconds.aggregate += record.aggregate_seconds;
    memory_.End(result().resident.aggregate);
    if (layer == 0) context_.Note(pipeline_->backend().Explain());
    return xhat;
  }

  LayerState TrainLayer(uint32_t layer, const TensorPtr& xhat) {
    Stopwatch setup;
    const uint32_t budget = config_.EpochsOf(layer);
    begun_ = {resumed_, resumed_ != nullptr ? layer_.record.epochs : 0};
    LayerRecord& record = layer_.record;
    if (resumed_ != nullptr && resumed_->state.value("finished", false)) return FinishedLayer(layer, *xhat);
    auto training = BeginLayer(layer, xhat, StartOf(layer, xhat->cols));
    result().seconds.setup += setup.Seconds();

    record.stopped_by = layer_.landing ? policy_.Name() : "budget";
    record.rate = config_.FindsRate() ? layer_.rate : config_.lr;
    BeginPolicy(layer, *xhat);
    Stopwatch watch;
    while (record.epochs < budget && !layer_.landing) {
      RunUntilDecision(layer, budget, xhat, *training, watch);
      if (Decides(layer, xhat, *training, watch) && record.epochs < budget &&
          record.epochs <= layer_.course.begin) {
        record.stopped_by = policy_.Name();
        if (Lands(layer)) training = BeginLanding(layer, budget, xhat, std::move(training));
        break;
      }
      if (record.epochs < budget) KeepSnapshot(layer, *training, watch);
    }
    if (layer_.landing) Land(layer, budget, xhat, *training, watch);
    if (!layer_.best) record.kept_epoch = record.epochs;
    record.train_seconds = layer_.seconds_before + watch.Seconds() - layer_.probe_seconds;
    result().seconds.looks += layer_.probe_seconds;
    result().seconds.train += record.train_seconds;
    LayerState state = layer_.best ? std::move(*layer_.best) : StateOf(*training);
    CheckWeights(state.w, layer + 1, record.kept_epoch, config_);
    CheckWeights(state.theta, layer + 1, record.kept_epoch, config_);
    record.flops = FlopsOf(record.epochs, *xhat, state);
    memory_.End(result().resident.train);
    KeepFinishedLayer(layer, state, watch);
    return state;
  }

  void BeginPolicy(uint32_t layer, const Tensor& xhat) {
    policy_.BeginLayer(
        {layer, config_.layers, config_.EpochsOf(layer), progress_.epochs_done, steps_per_epoch_,
         EpochsBetweenLooks(looked_, TrainedNodes(), xhat, config_.HiddenOf(layer), config_.head),
         FormOf(config_).norm});
    if (resumed_ != nullptr) policy_.Restore(resumed_->TakeNumbers("policy"));
    resumed_ = nullptr;
  }

  // The weights of a layer that an earlier process finished. Its input is not read.
  LayerState FinishedLayer(uint32_t layer, const Tensor& xhat) {
    LayerState state = StartOf(layer, xhat.cols);
    steps_per_epoch_ = StepsPerEpoch(DrawnFrom(layer).count);
    BeginPolicy(layer, xhat);
    return state;
  }

  // Whether a layer that was told to stop trains on while its rate falls. Inner layers do not: what they would gain makes no
  // difference to the layer after them.
  bool Lands(uint32_t layer) const { return config_.FindsRate() && layer + 1 == config_.layers; }

  // From the best weights on the rate falls to nothing, for a share of the epochs that led there.
  std::unique_ptr<LayerTraining> BeginLanding(uint32_t layer, uint32_t budget, const TensorPtr& xhat,
                                              std::unique_ptr<LayerTraining> training) {
    const LayerRecord& record = layer_.record;
    const uint32_t way = layer_.best ? record.kept_epoch : record.epochs;
    const auto epochs = static_cast<uint32_t>(std::max(1.0, std::round(options_.course.landing * way)));
    layer_.course = {record.epochs, std::min(budget, record.epochs + epochs)};
    layer_.landing = true;
    const LayerState start = layer_.best ? *layer_.best : StateOf(*training);
    training.reset();
    return BeginLayer(layer, xhat, start);
  }

  // Whether the landing was worth it is the policy's to say, unless the nodes it looks at were learned from.
  void Land(uint32_t layer, uint32_t budget, const TensorPtr& xhat, LayerTraining& training,
            const Stopwatch& watch) {
    RunTo(layer, budget, layer_.course.end, xhat, training, watch);
    if (GivesBack()) {
      layer_.best.reset();
    } else if (policy_.KeepsBest()) {
      Decides(layer, xhat, training, watch);
    }
  }

  // Whether losses of nodes are told as if the layer's confidence were right. Of the last layer only the answers count. An
  // inner layer that is too sure has learned its train nodes by heart, and the next layer would train on that.
  bool Refines(uint32_t layer) const { return layer + 1 == config_.layers && !dataset_.labels.multilabel; }

  // The train nodes that are held out, as rows of the layer's input.
  std::shared_ptr<const RowsToScore> HeldRows(uint32_t layer, const TensorPtr& xhat) const {
    const Array<uint32_t> rows = pipeline_->SampleRows(layer, options_.hops);
    std::vector<uint32_t> nodes, at;
    for (const uint32_t i : looked_.held) {
      nodes.push_back(nodes_.train[i]);
      at.push_back(rows.empty() ? i : rows[i]);
    }
    return pipeline_->backend().PrepareScoring(context_, xhat, Array<uint32_t>::CopyOf(at),
                                               TargetsOf(dataset_.labels, nodes), Refines(layer));
  }

  // The nodes that decisions look at, by the weights as they are.
  RowScores Look(uint32_t layer, const TensorPtr& xhat, const LayerTraining& training) {
    Stopwatch looking;
    peak_.Pause();
    if (!looked_.held.empty() && held_rows_ == nullptr) held_rows_ = HeldRows(layer, xhat);
    RowScores scores = looked_.held.empty() ? probe_->Look(training, looked_.validation, Refines(layer))
                                            : pipeline_->backend().Score(context_, training, *held_rows_);
    if (Refines(layer)) scores.losses = Refine(context_, scores.margins).losses;
    CountLook(scores.losses.size());
    layer_.probe_seconds += looking.Seconds();
    peak_.Resume();
    return scores;
  }

  // Asks the policy; returns whether the layer is to end.
  bool Decides(uint32_t layer, const TensorPtr& xhat, const LayerTraining& training, const Stopwatch& watch) {
    LayerRecord& record = layer_.record;
    Observation observation{record.epochs, record.losses, {}, Agreed(context_, TrainedFor(watch))};
    if (policy_.WantsValidation()) observation.validation = Probe(layer, training, watch);
    RowScores looked;
    if (policy_.WantsLooks()) {
      looked = Look(layer, xhat, training);
      observation.validation = {
          Counts{looked.true_positive, looked.false_positive, looked.false_negative}.F1(), looked.loss};
      observation.node_losses = looked.losses;
      observation.node_misses = looked.misses;
    }
    const Decision decision = policy_.Decide(observation);
    if (policy_.KeepsBest() && decision.best_so_far) {
      layer_.best = StateOf(training);
      record.kept_epoch = record.epochs;
    }
    if (decision.probability >= 0) record.probabilities.emplace_back(record.epochs, decision.probability);
    layer_.probability = decision.probability;
    return decision.stop;
  }

  // Seconds of training up to now; `watch` runs since the layer began.
  double TrainedFor(const Stopwatch& watch) {
    const PhaseSeconds& done = result().seconds;
    return done.aggregate + done.train + done.transform + watch.Seconds() - layer_.probe_seconds;
  }

  // Validation score of the layer as it stands, off the clock and off the memory meter. An epoch is scored
  // once, whoever asks.
  ValidationScore Probe(uint32_t layer, const LayerTraining& training, const Stopwatch& watch) {
    const uint32_t epoch = layer_.record.epochs;
    if (layer_.scored_epoch == epoch) return layer_.score;
    const double clock = TrainedFor(watch);
    peak_.Pause();
    Stopwatch probing;
    layer_.score = probe_->Look(training);
    CountLook(probe_->nodes());
    layer_.scored_epoch = epoch;
    result().validation.push_back({clock, layer + 1, epoch, layer_.score.f1});
    layer_.probe_seconds += probing.Seconds();
    peak_.Resume();
    return layer_.score;
  }

  // Epochs up to the policy's next decision, in stretches short enough to report and to be interrupted.
  void RunUntilDecision(uint32_t layer, uint32_t budget, const TensorPtr& xhat, LayerTraining& training,
                        const Stopwatch& watch) {
    LayerRecord& record = layer_.record;
    if (layer_.decision_at <= record.epochs) {
      layer_.decision_at = record.epochs + std::max(1u, policy_.EpochsUntilDecision(record.epochs));
    }
    RunTo(layer, budget, std::min(budget, layer_.decision_at), xhat, training, watch);
  }

  void RunTo(uint32_t layer, uint32_t budget, uint32_t target, const TensorPtr& xhat, LayerTraining& training,
             const Stopwatch& watch) {
    LayerRecord& record = layer_.record;
    const uint32_t between = options_.keeper != nullptr ? options_.keeper->EpochsBetween() : 0;
    while (record.epochs < target) {
      const double per_epoch = record.epochs == 0 ? kSecondsBetweenReports : watch.Seconds() / record.epochs;
      const double affordable = context_.on_progress || options_.keeper != nullptr
                                    ? kSecondsBetweenReports / std::max(per_epoch, 1e-9)
                                    : 1e9;
      auto count = static_cast<uint32_t>(std::clamp<double>(affordable, 1, target - record.epochs));
      if (config_.val_every > 0)
        count = std::min(count, config_.val_every - record.epochs % config_.val_every);
      if (between > 0) count = std::min(count, between);
      count = Agreed(context_, count);
      record.losses.resize(record.epochs + count);
      training.RunEpochs(context_, record.epochs, count, std::span(record.losses).last(count),
                         options_.step_losses);
      if (const auto bad = FirstNotFinite(std::span(record.losses).last(count)))
        ThrowAtFirstBadStep(layer, record.epochs + static_cast<uint32_t>(*bad), xhat, watch);
      record.epochs += count;
      moves().epochs += count;
      record.steps += count * steps_per_epoch_;
      if (config_.val_every > 0 && record.epochs % config_.val_every == 0) Probe(layer, training, watch);
      Report("train", layer, budget, watch.Seconds() - layer_.probe_seconds);
      if (record.epochs < target) KeepSnapshot(layer, training, watch);
    }
  }

  // The loss of an epoch's last step is all that training computes, and that of epoch `bad` (counted from 0) is
  // not finite. To name the step where that began, the layer is trained once more with the loss of every step:
  // random numbers are counter-based, so it goes the same way. A layer that has trained for long is not trained
  // again; then the epoch is named with the range of its steps.
  [[noreturn]] void ThrowAtFirstBadStep(uint32_t layer, uint32_t bad, const TensorPtr& xhat,
                                        const Stopwatch& watch) {
    const double loss = layer_.record.losses[bad];
    const bool soon = Agreed(context_, watch.Seconds() < kSecondsToFindStep);
    if (!config_.FindsRate() && soon && steps_per_epoch_ > 1) {
      std::vector<double> epoch_losses(1), losses;
      const auto again = BeginLayer(layer, xhat, StartOf(layer, xhat->cols));
      for (uint32_t epoch = begun_.epoch; epoch <= bad; ++epoch) {
        losses.clear();
        again->RunEpochs(context_, epoch, 1, epoch_losses, &losses);
        if (const auto step = FirstNotFinite(losses))
          ThrowDiverged(layer + 1, epoch + 1, *step + 1, *step + 1, losses[*step], config_);
      }
    }
    ThrowDiverged(layer + 1, bad + 1, 1, steps_per_epoch_, loss, config_);
  }

  void KeepWeights(uint32_t layer, const LayerState& state) {
    Model& model = progress_.trained.model;
    model.weights.push_back(state.w);
    progress_.previous = state;
    progress_.epochs_done += layer_.record.epochs;
    if (!plain_) {
      model.affines.push_back(state.affine.value);
      model.heads.push_back({state.head.value, state.head_affine.value, state.theta, state.bias.value});
    } else if (layer + 1 == config_.layers) {
      model.theta = state.theta;
    }
    result().layers.push_back(std::move(layer_.record));
  }

  void Transform(uint32_t layer, TensorPtr xhat, const DenseBlock& block) {
    Report("transform", layer);
    Stopwatch watch;
    x_ = pipeline_->Transform(context_, *xhat, block);
    xhat.reset();
    LayerRecord& record = result().layers.back();
    record.transform_seconds = watch.Seconds();
    result().seconds.transform += record.transform_seconds;
    memory_.End(result().resident.transform);
    if (!probe_ || layer + 1 == config_.layers) return;
    const Stopwatch probing;
    const double spared = probe_->EndLayer(block);  // of evaluation
    result().seconds.looks += probing.Seconds() - spared;
    result().seconds.evaluate += spared;
  }

  Trained Finish() {
    result().peak_device_bytes = pipeline_->backend().PeakDeviceBytes();
    result().peak_rss_bytes = peak_.Peak();
    progress_.trained.pipeline = pipeline_;
    return std::move(progress_.trained);
  }

  uint64_t StepsPerEpoch(uint64_t nodes) const {
    const uint64_t batch = std::min<uint64_t>(config_.batch, nodes);
    return config_.drop_last ? nodes / batch : (nodes + batch - 1) / batch;
  }

  // Forward and both weight gradients; no gradient to the input.
  double FlopsOf(uint32_t epochs, const Tensor& xhat, const LayerState& state) const {
    const auto nodes = static_cast<double>(nodes_.train.size());
    const double batch = std::min<double>(config_.batch, nodes);
    const double samples = config_.drop_last ? batch * std::floor(nodes / batch) : nodes;
    const double hidden = static_cast<double>(state.w.cols), classes = static_cast<double>(state.theta.cols);
    const double inputs = xhat.sparse ? static_cast<double>(xhat.nonzeros) / static_cast<double>(xhat.rows)
                                      : static_cast<double>(xhat.cols);
    const double head = static_cast<double>(state.head.value.cols), last = head > 0 ? head : hidden;
    return epochs * samples * (4 * inputs * hidden + 6 * hidden * head + 6 * last * classes);
  }

  // `budget` is 0 outside the training of a layer.
  void Report(const char* phase, uint32_t layer, uint32_t budget = 0, double seconds = 0) const {
    context_.CheckCancelled();
    if (!context_.on_progress) return;
    Progress progress;
    progress.phase = phase;
    progress.layer = layer + 1;
    progress.layers = config_.layers;
    progress.epochs = budget;
    if (budget > 0) {
      const LayerRecord& record = layer_.record;
      progress.epoch = record.epochs;
      progress.loss = record.losses.back();
      progress.nodes_per_second =
          static_cast<double>(nodes_.train.size()) * record.epochs / std::max(seconds, 1e-9);
      // As if an epoch of every later layer took as long as one of this layer.
      uint64_t epochs_left = budget - record.epochs;
      for (uint32_t later = layer + 1; later < config_.layers; ++later)
        epochs_left += config_.EpochsOf(later);
      progress.seconds_left = seconds / record.epochs * static_cast<double>(epochs_left);
      progress.at_most = config_.stop != "fixed";
      progress.stop_probability = layer_.probability;
      TellHistory(record, layer + 1, progress_.trained.result.validation, progress);
    }
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
  TensorPtr x_;      // X of the layer at hand
  std::optional<ValidationProbe> probe_;
  LookedNodes looked_;                            // where decisions look at nodes
  std::shared_ptr<const RowsToScore> held_rows_;  // of the layer at hand; null until they are looked at
  PeakMeter peak_;
  StretchMeter memory_;  // since the last phase
  uint64_t steps_per_epoch_ = 1;
  const Snapshot* resumed_ = nullptr;  // until the layer it is of has begun
  const bool plain_ = IsPlain(config_);
  struct {
    const Snapshot* snapshot = nullptr;
    uint32_t epoch = 0;
  } begun_;  // where this process began the layer at hand: in a snapshot, or at the layer's first epoch
  LayerwiseProgress progress_;
  LayerProgress layer_;
};

}  // namespace

Trained FitLayerwise(const Context& context, const Dataset& dataset, const SplitNodes& nodes,
                     const TrainConfig& config, StopPolicy& policy, const LayerwiseOptions& options) {
  return LayerwiseTrainer(context, dataset, nodes, config, policy, options).Fit();
}

}  // namespace l2gcn
