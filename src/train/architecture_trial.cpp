#include "train/architecture_trial.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "core/clock.h"
#include "core/error_format.h"
#include "data/relations.h"
#include "pipeline/layer_pipeline.h"
#include "train/held_out.h"
#include "train/layerwise_trainer.h"
#include "train/stop_policy.h"

namespace l2gcn {
namespace {

constexpr uint32_t kTrialSteps = 60, kTrialWidth = 128;
constexpr double kTrialErrors = 2.5;

// Trains to the end of the budget and keeps the losses that the evaluation nodes have there.
class LossesAtTheEnd final : public StopPolicy {
 public:
  void BeginLayer(const LayerView& view) override { budget_ = view.budget; }
  uint32_t EpochsUntilDecision(uint32_t epoch) const override { return budget_ - std::min(budget_, epoch); }
  Decision Decide(const Observation& observation) override {
    losses_.assign(observation.node_losses.begin(), observation.node_losses.end());
    return {true};
  }
  bool WantsNodeLosses() const override { return true; }
  std::string Name() const override { return "trial"; }
  std::vector<float> TakeLosses() { return std::move(losses_); }

 private:
  uint32_t budget_ = 1;
  std::vector<float> losses_;
};

struct Trial {
  SeedResult::Trial record;
  std::vector<float> losses;  // of the evaluation nodes
};

// Reports progress under the name of the trials, and leaves notes and warnings to the training itself.
Context TrialContext(const Context& context) {
  Context quiet = context;
  quiet.on_note = nullptr;
  quiet.on_warning = nullptr;
  if (context.on_progress) {
    quiet.on_progress = [show = context.on_progress](const Progress& progress) {
      Progress shown = progress;
      shown.phase = "choose";
      show(shown);
    };
  }
  return quiet;
}

TrainConfig TrialConfig(const TrainConfig& config, const Dataset& dataset, const SplitNodes& nodes) {
  TrainConfig trial = config;
  trial.architecture_trial = false;
  trial.layers = 1;
  trial.hidden = {std::min(config.HiddenOf(0), kTrialWidth)};
  trial.head = std::min(config.head, kTrialWidth);
  trial.predict_from = PredictFrom::kLast;
  trial.correct = Choice::kOff;
  trial.val_every = 0;
  const uint64_t trained = nodes.train.size() - HeldOutCount(config, dataset, nodes);
  const uint64_t steps = std::max<uint64_t>(1, (trained + config.batch - 1) / config.batch);
  const auto epochs = static_cast<uint32_t>((kTrialSteps + steps - 1) / steps);
  trial.epochs = {std::min(epochs, config.EpochsOf(0))};
  return trial;
}

class ArchitectureTrials {
 public:
  ArchitectureTrials(const Context& context, const Dataset& dataset, const SplitNodes& nodes,
                     const TrainConfig& config)
      : context_(TrialContext(context)),
        dataset_(dataset),
        nodes_(nodes),
        config_(TrialConfig(config, dataset, nodes)) {}

  // Trains with these parts.
  Trial Run(const std::vector<std::string>& relations, const std::vector<Adjacency>& adjacency,
            HiddenNorm norm) {
    config_.relations = relations;
    config_.adjacency = adjacency;
    config_.hidden_norm = norm;
    LossesAtTheEnd policy;
    LayerwiseOptions options;
    options.pipeline = PipelineFor(config_);
    const SeedResult::Seconds seconds =
        FitLayerwise(context_, dataset_, nodes_, config_, policy, options).trained.result.seconds;
    setup_seconds_ += seconds.setup;
    aggregate_seconds_ += seconds.aggregate;
    Trial trial{{relations, adjacency, norm, config_.epochs.front(), 0, false}, policy.TakeLosses()};
    for (const float loss : trial.losses) trial.record.loss += double{loss};
    trial.record.loss /= static_cast<double>(trial.losses.size());
    return trial;
  }

  // For the training that ends the trials.
  ChosenArchitecture Choose(TrainConfig config) {
    ChosenArchitecture chosen;
    chosen.pipeline = PipelineFor(config);
    chosen.pipeline->EndSharing();
    chosen.config = std::move(config);
    chosen.setup_seconds = setup_seconds_;
    chosen.aggregate_seconds = aggregate_seconds_;
    chosen.choose_seconds = watch_.Seconds() - setup_seconds_ - aggregate_seconds_;
    return chosen;
  }

 private:
  std::shared_ptr<LayerPipeline> PipelineFor(const TrainConfig& config) {
    if (input_ == nullptr) {
      const Stopwatch setup;
      input_ = std::make_shared<LayerPipeline>(context_, dataset_, config, nodes_.train);
      input_->Input(context_);
      setup_seconds_ += setup.Seconds() - input_->smooth_seconds();
      aggregate_seconds_ += input_->smooth_seconds();
    }
    return input_->WithLayers(context_, config);
  }

  const Stopwatch watch_;
  const Context context_;
  const Dataset& dataset_;
  const SplitNodes& nodes_;
  TrainConfig config_;
  std::shared_ptr<LayerPipeline> input_;  // of all trials
  double setup_seconds_ = 0, aggregate_seconds_ = 0;
};

// All edges together, the relations beside them, and the relations alone; or what the configuration names.
std::vector<std::vector<std::string>> TriedRelations(const Dataset& dataset, const TrainConfig& config) {
  if (!config.TriesRelations()) return {config.relations};
  const std::vector<std::string> both = WidestRelations(dataset);
  return {{}, both, {both.begin() + 1, both.end()}};
}

// Whether the losses of `other` are lower on average by more than chance explains.
bool IsBetter(const Trial& other, const Trial& best) {
  L2GCN_ASSERT(other.losses.size() == best.losses.size());
  const auto n = static_cast<double>(best.losses.size());
  const double gain = best.record.loss - other.record.loss;
  double squares = 0;
  for (size_t i = 0; i < best.losses.size(); ++i) {
    const double own = double{best.losses[i]} - double{other.losses[i]} - gain;
    squares += own * own;
  }
  return std::isfinite(gain) && gain > kTrialErrors * std::sqrt(squares) / n;
}

}  // namespace

ChosenArchitecture ChooseArchitecture(const Context& context, const Dataset& dataset, const SplitNodes& nodes,
                                      const TrainConfig& config) {
  ArchitectureTrials trials(context, dataset, nodes, config);
  std::vector<Trial> tried;
  size_t best = 0;
  const auto attempt = [&](const std::vector<std::string>& relations, const std::vector<Adjacency>& adjacency,
                           HiddenNorm norm) {
    tried.push_back(trials.Run(relations, adjacency, norm));
    if (IsBetter(tried.back(), tried[best])) best = tried.size() - 1;
  };
  for (const std::vector<std::string>& relations : TriedRelations(dataset, config))
    attempt(relations, config.adjacency, config.hidden_norm);
  if (config.architecture_trial) {
    attempt(tried[best].record.relations, TrialOperators(), config.hidden_norm);
    attempt(tried[best].record.relations, tried[best].record.adjacency, HiddenNorm::kBatch);
  }
  tried[best].record.chosen = true;
  TrainConfig best_config = config;
  best_config.architecture_trial = false;
  best_config.relations = tried[best].record.relations;
  best_config.adjacency = tried[best].record.adjacency;
  best_config.hidden_norm = tried[best].record.hidden_norm;
  ChosenArchitecture chosen = trials.Choose(std::move(best_config));
  for (const Trial& trial : tried) chosen.trials.push_back(trial.record);
  return chosen;
}

}  // namespace l2gcn
