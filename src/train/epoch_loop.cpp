#include "train/epoch_loop.h"

#include <algorithm>
#include <cmath>

#include "ranks/collectives.h"
#include "train/evaluator.h"
#include "train/training_set.h"

namespace l2gcn {

void EpochProgress::Save(double seconds, Snapshot& snapshot) const {
  snapshot.AddNumber("probability", probability);
  snapshot.AddNumber("evaluate_seconds", evaluate_seconds);
  snapshot.AddNumber("seconds", seconds);
  snapshot.AddNumber("score_f1", score.f1);
  snapshot.AddNumber("score_loss", score.loss);
  snapshot.state["scored_epoch"] = scored_epoch;
  snapshot.state["decision_at"] = decision_at;
}

void EpochProgress::Restore(const Snapshot& snapshot) {
  probability = snapshot.TakeNumber("probability");
  evaluate_seconds = snapshot.TakeNumber("evaluate_seconds");
  seconds_before = snapshot.TakeNumber("seconds");
  score = {snapshot.TakeNumber("score_f1"), snapshot.TakeNumber("score_loss")};
  scored_epoch = snapshot.state.at("scored_epoch").get<uint32_t>();
  decision_at = snapshot.state.at("decision_at").get<uint32_t>();
}

bool EpochLoop::Run(uint32_t budget, uint32_t last_decision) {
  const SeedResult::Layer& record = progress_.record;
  while (record.epochs < budget) {
    if (progress_.decision_at <= record.epochs) {
      progress_.decision_at = record.epochs + std::max(1u, view_.policy.EpochsUntilDecision(record.epochs));
    }
    RunTo(budget, std::min(budget, progress_.decision_at));
    const bool stop = Decide();
    if (record.epochs == budget) break;
    if (stop && record.epochs <= last_decision) return true;
    MaybeCheckpoint();
  }
  return false;
}

void EpochLoop::RunTo(uint32_t budget, uint32_t target) {
  SeedResult::Layer& record = progress_.record;
  const uint32_t val_every = view_.config.val_every;
  while (record.epochs < target) {
    const uint32_t count = NextStretch(target);
    record.losses.resize(record.epochs + count);
    subject_.RunEpochs(record.epochs, count, std::span(record.losses).last(count));
    record.epochs += count;
    record.steps += count * subject_.StepsPerEpoch();
    if (val_every > 0 && record.epochs % val_every == 0) ScoreValidation();
    Report(budget);
    if (record.epochs < target) MaybeCheckpoint();
  }
}

// Epochs to train at once: few enough to report progress, to be interrupted and to be kept in time.
uint32_t EpochLoop::NextStretch(uint32_t target) const {
  const uint32_t done = progress_.record.epochs;
  const bool reports = view_.context.on_progress != nullptr || view_.checkpointer != nullptr;
  const double per_epoch = done == 0 ? kSecondsBetweenReports : SecondsSoFar() / done;
  const double affordable = reports ? kSecondsBetweenReports / std::max(per_epoch, 1e-9) : 1e9;
  auto count = static_cast<uint32_t>(std::clamp<double>(affordable, 1, target - done));
  if (const uint32_t every = view_.config.val_every; every > 0) count = std::min(count, every - done % every);
  const uint32_t between = view_.checkpointer != nullptr ? view_.checkpointer->EpochsBetween() : 0;
  if (between > 0) count = std::min(count, between);
  return Agreed(view_.context, count);
}

bool EpochLoop::Decide() {
  StopPolicy& policy = view_.policy;
  SeedResult::Layer& record = progress_.record;
  const SeedResult::Seconds& done = view_.result.seconds;
  const double seconds = done.aggregate + done.train + done.transform + TrainSeconds();
  Observation observation{record.epochs, record.losses, {}, Agreed(view_.context, seconds)};
  if (policy.WantsValidation()) observation.validation = ScoreValidation();
  RowScores scores;
  if (policy.WantsNodeLosses()) {
    scores = ScoreEvaluationNodes();
    observation.validation = {F1Of(scores), scores.loss};
    progress_.shown_epoch = std::isnan(observation.validation.f1) ? 0 : record.epochs;
    progress_.shown_f1 = observation.validation.f1;
    observation.node_losses = scores.losses;
    observation.node_misses = scores.misses;
  }
  const Decision decision = policy.Decide(observation);
  if (policy.KeepsBest() && decision.best_so_far) {
    subject_.KeepBest();
    record.kept_epoch = record.epochs;
  }
  if (decision.probability >= 0) record.probabilities.emplace_back(record.epochs, decision.probability);
  progress_.probability = decision.probability;
  return decision.stop;
}

double EpochLoop::SecondsSoFar() const { return progress_.seconds_before + watch_.Seconds(); }

double EpochLoop::TrainSeconds() const { return SecondsSoFar() - progress_.evaluate_seconds; }

// Off the clock and off the memory meter. An epoch is scored once, whoever asks.
Observation::Validation EpochLoop::ScoreValidation() {
  const uint32_t epoch = progress_.record.epochs;
  if (progress_.scored_epoch == epoch) return progress_.score;
  const SeedResult::Seconds& done = view_.result.seconds;
  const double clock = done.aggregate + done.train + done.transform + TrainSeconds();
  view_.peak.Pause();
  const Stopwatch scoring;
  progress_.score = subject_.ScoreValidation();
  progress_.scored_epoch = epoch;
  view_.result.validation.push_back(
      {clock, view_.layer + 1, epoch, progress_.score.f1, progress_.score.loss});
  progress_.evaluate_seconds += scoring.Seconds();
  view_.peak.Resume();
  return progress_.score;
}

RowScores EpochLoop::ScoreEvaluationNodes() {
  view_.peak.Pause();
  const Stopwatch scoring;
  RowScores scores = subject_.ScoreEvaluationNodes();
  progress_.evaluate_seconds += scoring.Seconds();
  view_.peak.Resume();
  return scores;
}

void EpochLoop::MaybeCheckpoint() {
  if (view_.checkpointer == nullptr ||
      !view_.checkpointer->Due(view_.epochs_before + progress_.record.epochs))
    return;
  Snapshot snapshot;
  progress_.Save(SecondsSoFar(), snapshot);
  snapshot.AddNumbers("policy", view_.policy.Memory());
  subject_.Save(snapshot);
  view_.checkpointer->Keep(snapshot);
}

// The time left is that of epochs as long as those of this layer, up to the budget of every layer.
void EpochLoop::Report(uint32_t budget) const {
  view_.context.CheckCancelled();
  if (!view_.context.on_progress) return;
  const SeedResult::Layer& record = progress_.record;
  const double seconds = std::max(TrainSeconds(), 1e-9);
  uint64_t epochs_left = budget - record.epochs;
  for (uint32_t later = view_.layer + 1; later < view_.layers; ++later)
    epochs_left += view_.config.EpochsOf(later);
  Progress progress;
  progress.phase = "train";
  progress.layer = view_.layers > 0 ? view_.layer + 1 : 0;
  progress.layers = view_.layers;
  progress.epochs = budget;
  progress.epoch = record.epochs;
  progress.loss = record.losses.back();
  progress.nodes_per_second = static_cast<double>(view_.train_nodes) * record.epochs / seconds;
  progress.seconds_left = seconds / record.epochs * static_cast<double>(epochs_left);
  progress.at_most = view_.config.stop != StopRule::kFixed;
  progress.stop_probability = progress_.probability;
  progress.validation_epoch = progress_.shown_epoch;
  progress.validation_f1 = progress_.shown_f1;
  LogHistory(record, view_.layer + 1, view_.result.validation, progress);
  view_.context.on_progress(progress);
}

}  // namespace l2gcn
