#include "train/layer_in_training.h"

#include <algorithm>
#include <cmath>

#include "core/error_format.h"
#include "ranks/collectives.h"
#include "train/layer_rate.h"
#include "train/layer_setup.h"

namespace l2gcn {
namespace {

// The longest training that is repeated to find the first step whose loss is not finite.
constexpr double kSecondsToFindStep = 20;

}  // namespace

void LayerInTraining::EstimateSchedule(const Tensor& x) {
  const uint32_t budget = job_.config.EpochsOf(layer_);
  const std::span<const uint32_t> rows =
      layer_ == 0 && job_.pipeline.inductive() ? job_.pipeline.InputRows() : std::span<const uint32_t>();
  const uint64_t samples = TrainedNodes();
  const AutoSchedule& schedule = job_.options.schedule;
  progress_.rate =
      EstimateRate(job_.context, job_.pipeline.backend(), x, rows, ArchitectureOf(job_.config),
                   static_cast<double>(samples), static_cast<double>(budget * StepsOf(samples)), schedule);
  const auto decay = static_cast<uint32_t>(std::ceil(schedule.last_part * budget));
  progress_.schedule = {budget - std::min(budget, decay), budget};
}

void LayerInTraining::Begin(const Snapshot* snapshot) {
  snapshot_ = snapshot;
  first_epoch_ = progress_.epochs.record.epochs;
  Start(StartingWeights(snapshot));
  since_begin_ = Stopwatch();
}

LayerState LayerInTraining::StartingWeights(const Snapshot* snapshot) {
  const TrainConfig& config = job_.config;
  const size_t classes = job_.dataset.labels.classes;
  if (snapshot == nullptr) return LayerStart(config, layer_, xhat_.cols(), classes, done_.previous);
  try {
    const std::vector<ParameterShape> shapes =
        ParametersOf(ArchitectureOf(config), xhat_.cols(), config.HiddenOf(layer_), classes);
    if (snapshot->Has("best.weight")) progress_.best = snapshot->TakeLayer("best", shapes);
    return snapshot->TakeLayer("current", shapes);
  } catch (const nlohmann::json::exception& error) {
    ThrowInput("the checkpoint is damaged: {}", error.what());
  }
}

void LayerInTraining::Start(const LayerState& start) {
  const Samples drawn = DrawnFrom();
  steps_per_epoch_ = StepsOf(drawn.count);
  training_ =
      job_.pipeline.backend().BeginLayer(job_.context, xhat_, drawn.rows, drawn.targets, Spec(), start);
}

LayerSpec LayerInTraining::Spec() const {
  LayerSpec spec = LayerSpecOf(job_.config, layer_);
  if (!job_.config.FindsRate()) return spec;
  spec.lr = static_cast<float>(progress_.rate);
  spec.schedule = progress_.schedule;
  return spec;
}

// All train nodes but those held out, which take part in the cool-down.
LayerInTraining::Samples LayerInTraining::DrawnFrom() const {
  const SplitNodes& nodes = job_.nodes;
  Array<uint32_t> rows = job_.pipeline.SampleRows(layer_, job_.options.hops);
  if (!job_.evaluator.HoldsOut() || GivesBack()) return {rows, job_.targets, nodes.train.size()};
  const std::vector<uint32_t>& others = job_.evaluator.evaluation_nodes().others;
  Array<uint32_t> samples = Array<uint32_t>::Allocate(others.size());
  std::vector<uint32_t> trained;
  for (size_t i = 0; i < others.size(); ++i) {
    samples.mutable_data()[i] = rows.empty() ? others[i] : rows[others[i]];
    trained.push_back(nodes.train[others[i]]);
  }
  Targets targets = TargetsOf(job_.dataset.labels, trained, job_.config.loss);
  targets.weights = job_.targets.weights;
  return {std::move(samples), std::move(targets), others.size()};
}

size_t LayerInTraining::TrainedNodes() const {
  return job_.evaluator.HoldsOut() ? job_.evaluator.evaluation_nodes().others.size()
                                   : job_.nodes.train.size();
}

uint64_t LayerInTraining::StepsOf(uint64_t nodes) const {
  const uint64_t batch = std::min<uint64_t>(job_.config.batch, nodes);
  return job_.config.drop_last ? nodes / batch : (nodes + batch - 1) / batch;
}

void LayerInTraining::BeginCoolDown(uint32_t budget) {
  const SeedResult::Layer& record = progress_.epochs.record;
  const uint32_t led_there = progress_.best ? record.kept_epoch : record.epochs;
  const auto epochs =
      static_cast<uint32_t>(std::max(1.0, std::round(job_.options.schedule.cool_down * led_there)));
  progress_.schedule = {record.epochs, std::min(budget, record.epochs + epochs)};
  progress_.cooling_down = true;
  const LayerState start = progress_.best ? *progress_.best : training_->Read();
  training_.reset();
  Start(start);
}

void LayerInTraining::RunEpochs(uint32_t first, uint32_t count, std::span<double> losses) {
  training_->RunEpochs(job_.context, first, count, losses, job_.options.step_losses);
  if (const auto bad = FirstNotFinite(losses))
    ThrowAtFirstBadStep(first + static_cast<uint32_t>(*bad), losses[*bad]);
}

// The loss of an epoch's last step is all that training computes, and that of epoch `bad` (counted from 0) is
// not finite. To name the step where that began, the layer is trained once more with the loss of every step:
// random numbers are counter-based, so it goes the same way. A layer that has trained for long is not trained
// again; then the epoch is named with the range of its steps.
void LayerInTraining::ThrowAtFirstBadStep(uint32_t bad, double loss) {
  const bool soon = Agreed(job_.context, since_begin_.Seconds() < kSecondsToFindStep);
  if (!job_.config.FindsRate() && soon && steps_per_epoch_ > 1) {
    std::vector<double> epoch_losses(1), losses;
    Start(StartingWeights(snapshot_));
    for (uint32_t epoch = first_epoch_; epoch <= bad; ++epoch) {
      losses.clear();
      training_->RunEpochs(job_.context, epoch, 1, epoch_losses, &losses);
      if (const auto step = FirstNotFinite(losses))
        ThrowDiverged(layer_ + 1, epoch + 1, *step + 1, *step + 1, losses[*step], job_.config);
    }
  }
  ThrowDiverged(layer_ + 1, bad + 1, 1, steps_per_epoch_, loss, job_.config);
}

void LayerInTraining::Save(Snapshot& snapshot) const {
  const LayerState state = training_->Read();
  CheckWeights(state["weight"].value, layer_ + 1, progress_.epochs.record.epochs, job_.config);
  SaveProgress(done_, progress_, layer_, state, false, snapshot);
}

LayerState LayerInTraining::FinalWeights() {
  const uint32_t epoch = progress_.epochs.record.kept_epoch;
  LayerState state = progress_.best ? std::move(*progress_.best) : training_->Read();
  progress_.best.reset();
  for (const Parameter& parameter : state.parameters)
    CheckWeights(parameter.value, layer_ + 1, epoch, job_.config);
  return state;
}

LayerView LayerInTraining::View() const {
  const TrainConfig& config = job_.config;
  return {layer_,
          config.layers,
          config.EpochsOf(layer_),
          done_.epochs_done,
          StepsOf(GivesBack() ? job_.nodes.train.size() : TrainedNodes()),
          EpochsBetweenEvaluations(job_.evaluator.evaluation_nodes(), TrainedNodes(), xhat_,
                                   config.HiddenOf(layer_), config.head),
          config.hidden_norm != HiddenNorm::kNone};
}

double LayerInTraining::Flops(const LayerState& state) const {
  const auto nodes = static_cast<double>(job_.nodes.train.size());
  const double batch = std::min<double>(job_.config.batch, nodes);
  const double samples = job_.config.drop_last ? batch * std::floor(nodes / batch) : nodes;
  const double hidden = static_cast<double>(state["weight"].value.cols),
               classes = static_cast<double>(state["classifier"].value.cols);
  const double inputs = xhat_.ElementsPerRow();
  const double head = static_cast<double>(state.head().hidden.weight.cols), last = head > 0 ? head : hidden;
  return progress_.epochs.record.epochs * samples *
         (4 * inputs * hidden + 6 * hidden * head + 6 * last * classes);
}

}  // namespace l2gcn
