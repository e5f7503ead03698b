#include "run/train_seed.h"

#include <optional>

#include "config/methods.h"
#include "config/stop_policies.h"
#include "core/error_format.h"
#include "model/model_shapes.h"
#include "model/target_scaling.h"
#include "ranks/collectives.h"
#include "run/checkpoint.h"
#include "run/ranks_checkpointer.h"
#include "train/architecture_trial.h"
#include "train/conventional_trainer.h"
#include "train/layerwise_trainer.h"
#include "train/stop_policy.h"

namespace l2gcn {
namespace {

constexpr uint32_t kMostRestarts = 3;
constexpr double kLoweredRate = 1.0 / 3;

// The job at the rate that it has after so many restarts.
Job AfterRestarts(const Job& job, uint32_t restarts) {
  Job lowered = job;
  for (uint32_t i = 0; i < restarts; ++i) *lowered.config.lr *= kLoweredRate;
  return lowered;
}

// Says that a seed that had diverged ended well, and keeps it in the result.
void LogRestarts(const Job& given, const Job& tried, uint32_t restarts, SeedResult& result) {
  result.restarts = restarts;
  result.lowered_lr = *tried.config.lr;
  given.context.Note(fmt::format("seed {}: ended well at --lr {:.4g} in place of {:.4g}, after {} restart{}",
                                 given.config.seed, *tried.config.lr, *given.config.lr, restarts,
                                 restarts == 1 ? "" : "s"));
}

// What the checkpoint has of a seed that is trained but not evaluated.
std::optional<TrainedSeed> TrainedBefore(const Job& job, const Checkpoint* checkpoint) {
  std::optional<Trained> kept;
  if (checkpoint != nullptr) kept = checkpoint->TrainedOnly(job.config.seed);
  if (!Agreed(job.context, kept.has_value())) return std::nullopt;
  TrainedSeed seed;
  if (kept) seed.trained = std::move(*kept);
  seed.trained.model =
      UnpackModel(AgreedText(job.context, [&] { return PackModel(seed.trained.model); }), "rank 0's model");
  seed.trained.split = job.nodes->split;
  return seed;
}

// Layer by layer, with the architecture that trials choose where the configuration leaves it open. A training that goes on
// from a snapshot repeats the trials: they choose the same again.
TrainedSeed FitChosen(const Job& job, StopPolicy& policy, Checkpointer* checkpointer) {
  LayerwiseOptions options;
  options.checkpointer = checkpointer;
  if (!job.config.architecture_trial && !job.config.TriesRelations())
    return FitLayerwise(job.context, job.dataset, *job.nodes, job.config, policy, options);
  ChosenArchitecture chosen = ChooseArchitecture(job.context, job.dataset, *job.nodes, job.config);
  options.pipeline = std::move(chosen.pipeline);
  TrainedSeed seed = FitLayerwise(job.context, job.dataset, *job.nodes, chosen.config, policy, options);
  SeedResult& result = seed.trained.result;
  result.trials = std::move(chosen.trials);
  result.seconds.setup += chosen.setup_seconds;
  result.seconds.aggregate += chosen.aggregate_seconds;
  result.seconds.choose = chosen.choose_seconds;
  return seed;
}

// One attempt, from the last snapshot on if there is one.
TrainedSeed TrainOnce(const Job& job, const RunOptions& options, Checkpoint* checkpoint) {
  Checkpointer* checkpointer = checkpoint;
  std::optional<RanksCheckpointer> together;
  if (job.context.ranks != nullptr && options.write)
    checkpointer = &together.emplace(job.context, checkpoint);
  std::unique_ptr<StopPolicy> policy = MakeStopPolicy(job);
  if (options.on_decision) {
    policy = std::make_unique<WatchedPolicy>(std::move(policy), options.on_decision);
    checkpointer = nullptr;  // the caller's may remember what no snapshot knows: its seed begins anew
  }
  return FitMethod(job, *policy, checkpointer);
}

}  // namespace

std::unique_ptr<StopPolicy> MakeStopPolicy(const Job& job) {
  const StopRule stop = job.config.stop.value_or(OwnStop(job.config.method));
  return StopPolicyOf(stop).make({job.config, job.dataset, *job.nodes});
}

namespace {

TrainedSeed FitByLoop(const Job& job, StopPolicy& policy, Checkpointer* checkpointer) {
  switch (FindMethod(job.config.method).loop) {
    case TrainingLoop::kLayerwise:
      return FitChosen(job, policy, checkpointer);
    case TrainingLoop::kConventional:
      return FitConventional(job.context, job.dataset, *job.nodes, job.config, policy, nullptr, checkpointer);
    case TrainingLoop::kPowersLayerwise:
      return FitNgcnLayerwise(job.context, job.dataset, *job.nodes, job.config, policy);
  }
  L2GCN_ASSERT(false);
}

}  // namespace

TrainedSeed FitMethod(const Job& job, StopPolicy& policy, Checkpointer* checkpointer) {
  if (job.dataset.labels.task() != Task::kRegression) return FitByLoop(job, policy, checkpointer);
  Job standardised = job;
  Model::TargetScaling scaling = FitTargetScaling(job.dataset, job.nodes->train);
  standardised.dataset.labels = StandardisedLabels(job.dataset.labels, scaling);
  TrainedSeed seed = FitByLoop(standardised, policy, checkpointer);
  seed.trained.model.target_scaling = std::move(scaling);
  return seed;
}

TrainedSeed TrainSeed(const Job& job, const RunOptions& options, Checkpoint* checkpoint) {
  if (std::optional<TrainedSeed> before = TrainedBefore(job, checkpoint)) return std::move(*before);
  if (checkpoint != nullptr) checkpoint->BeginSeed(job.config.seed);
  uint32_t attempt = Agreed(job.context, checkpoint != nullptr ? checkpoint->attempt() : 0);
  for (;; ++attempt) {
    const Job tried = AfterRestarts(job, attempt);
    try {
      TrainedSeed seed = TrainOnce(tried, options, checkpoint);
      if (attempt > 0) LogRestarts(job, tried, attempt, seed.trained.result);
      if (checkpoint != nullptr) checkpoint->KeepTrained(seed.trained);
      return seed;
    } catch (const Diverged& error) {
      if (!job.config.restart_on_nan || job.config.FindsRate() || attempt == kMostRestarts) throw;
      job.context.Warn(fmt::format("seed {}: {}: the seed begins again at {} of the rate", job.config.seed,
                                   error.what(), attempt == 0 ? "a third" : "a third once more"));
      if (checkpoint != nullptr) checkpoint->Restart();
    }
  }
}

Trained Train(const Context& context, const Dataset& dataset, const TrainConfig& config, StopPolicy& policy) {
  return FitMethod(MakeJob(context, dataset, config), policy).trained;
}

Trained Train(const Context& context, const Dataset& dataset, const TrainConfig& config) {
  const Job job = MakeJob(context, dataset, config);
  return FitMethod(job, *MakeStopPolicy(job)).trained;
}

Trained Train(const Context& context, const Dataset& dataset) {
  return Train(context, dataset, ResolveConfig({}, dataset));
}

}  // namespace l2gcn
