#include "train/architecture_trial.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "core/error_format.h"
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
  ArchitectureTrial record;
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

  // Trains with these parts. Trainings with the same operators share one pipeline.
  Trial Run(const std::vector<Adjacency>& adjacency, HiddenNorm norm) {
    if (pipeline_ == nullptr || adjacency != config_.adjacency) {
      pipeline_.reset();
      config_.adjacency = adjacency;
      pipeline_ = std::make_shared<LayerPipeline>(context_, dataset_, config_, nodes_.train);
    }
    config_.hidden_norm = norm;
    LossesAtTheEnd policy;
    LayerwiseOptions options;
    options.pipeline = pipeline_;
    FitLayerwise(context_, dataset_, nodes_, config_, policy, options);
    Trial trial{{adjacency, norm, config_.epochs.front(), 0, false}, policy.TakeLosses()};
    for (const float loss : trial.losses) trial.record.loss += double{loss};
    trial.record.loss /= static_cast<double>(trial.losses.size());
    return trial;
  }

 private:
  const Context context_;
  const Dataset& dataset_;
  const SplitNodes& nodes_;
  TrainConfig config_;
  std::shared_ptr<LayerPipeline> pipeline_;
};

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

TrainConfig ChooseArchitecture(const Context& context, const Dataset& dataset, const SplitNodes& nodes,
                               const TrainConfig& config, std::vector<ArchitectureTrial>& records) {
  ArchitectureTrials trials(context, dataset, nodes, config);
  std::vector<Trial> tried;
  size_t best = 0;
  const auto attempt = [&](const std::vector<Adjacency>& adjacency, HiddenNorm norm) {
    tried.push_back(trials.Run(adjacency, norm));
    if (IsBetter(tried.back(), tried[best])) best = tried.size() - 1;
  };
  attempt(config.adjacency, config.hidden_norm);
  attempt(TrialOperators(), config.hidden_norm);
  attempt(tried[best].record.adjacency, HiddenNorm::kBatch);
  tried[best].record.chosen = true;
  records.clear();
  for (const Trial& trial : tried) records.push_back(trial.record);
  TrainConfig chosen = config;
  chosen.architecture_trial = false;
  chosen.adjacency = tried[best].record.adjacency;
  chosen.hidden_norm = tried[best].record.hidden_norm;
  return chosen;
}

}  // namespace l2gcn
