// The one loop over epochs, for a layer, an end-to-end network or a rollout of the controller's search:
//
//   while epochs < budget:  train up to the next decision;  score;  ask the stopping rule;  write a checkpoint if it is time
//
// The subject implements the training, the scoring and the format of its weights in a checkpoint.
#pragma once

#include <cstdint>
#include <span>

#include "core/clock.h"
#include "core/memory_meter.h"
#include "kernels/backend.h"
#include "l2gcn/config.h"
#include "l2gcn/train.h"
#include "train/snapshot.h"
#include "train/stop_policy.h"

namespace l2gcn {

// What the loop trains.
class EpochSubject {
 public:
  virtual ~EpochSubject() = default;
  // Trains epochs first … first + count − 1 and stores the loss of each one's last batch. Throws Diverged.
  virtual void RunEpochs(uint32_t first, uint32_t count, std::span<double> losses) = 0;
  virtual uint64_t StepsPerEpoch() const = 0;
  // All validation nodes, and the evaluation nodes of a stopping rule, by the current weights.
  virtual Observation::Validation ScoreValidation() = 0;
  virtual RowScores ScoreEvaluationNodes() = 0;
  // The current weights are those to return to.
  virtual void KeepBest() = 0;
  // Weights, optimiser and what else a checkpoint needs besides the loop's own progress.
  virtual void Save(Snapshot& snapshot) const = 0;
};

// What changes while the loop runs: with the subject's weights, what a checkpoint has to keep.
struct EpochProgress {
  SeedResult::Layer record;     // epochs, losses, decisions so far
  double probability = -1;      // that the layer stops, at the last decision
  double evaluate_seconds = 0;  // spent on scores
  double seconds_before = 0;    // trained by the process that was interrupted
  uint32_t decision_at = 0;     // epoch of the next decision
  uint32_t scored_epoch = 0;    // epoch that `score` belongs to; 0: none
  uint32_t shown_epoch = 0;     // of the last F1 of a rule's own evaluation nodes, for displays; 0: none
  double shown_f1 = 0;
  Observation::Validation score;

  // All but the record. `seconds`: trained by now.
  void Save(double seconds, Snapshot& snapshot) const;
  // Throws Error(kInput) or nlohmann's exceptions for a damaged snapshot.
  void Restore(const Snapshot& snapshot);
};

// Where a loop stands in its training.
struct EpochLoopView {
  const Context& context;
  const TrainConfig& config;
  StopPolicy& policy;
  Checkpointer* checkpointer;  // null: no checkpoints
  PeakMeter& peak;             // paused while nodes are scored
  SeedResult& result;          // gets the validation scores; has the seconds of earlier phases
  uint32_t layer, layers;      // 0-based; layers is 0 for a network that is trained end to end
  uint64_t epochs_before;      // trained in all earlier layers
  size_t train_nodes;          // for progress displays
};

class EpochLoop {
 public:
  // The clock of the training starts here.
  EpochLoop(const EpochLoopView& view, EpochSubject& subject, EpochProgress& progress)
      : view_(view), subject_(subject), progress_(progress) {}

  // Trains until the rule ends the layer or `budget` epochs are done; returns whether the rule did. Decisions after epoch
  // `last_decision` are recorded and no longer end it.
  bool Run(uint32_t budget, uint32_t last_decision);
  // Trains up to `target` epochs without asking the rule.
  void RunTo(uint32_t budget, uint32_t target);
  // Scores and asks the rule; returns whether the layer is to end.
  bool Decide();
  // Seconds of training in this layer; evaluation is not counted.
  double TrainSeconds() const;

 private:
  uint32_t NextStretch(uint32_t target) const;
  double SecondsSoFar() const;
  Observation::Validation ScoreValidation();
  RowScores ScoreEvaluationNodes();
  void MaybeCheckpoint();
  void Report(uint32_t budget) const;

  EpochLoopView view_;
  EpochSubject& subject_;
  EpochProgress& progress_;
  Stopwatch watch_;
};

}  // namespace l2gcn
