// One layer while it trains: what its steps draw from, its learning-rate schedule, its best weights.
#pragma once

#include <memory>
#include <span>

#include "train/epoch_loop.h"
#include "train/evaluator.h"
#include "train/layerwise_progress.h"
#include "train/layerwise_trainer.h"

namespace l2gcn {

// What all layers of a training share.
struct LayerwiseJob {
  const Context& context;
  const Dataset& dataset;
  const SplitNodes& nodes;
  const TrainConfig& config;
  const LayerwiseOptions& options;
  LayerPipeline& pipeline;
  Evaluator& evaluator;
  const Targets& targets;  // labels of the train nodes
};

class LayerInTraining final : public EpochSubject {
 public:
  LayerInTraining(const LayerwiseJob& job, uint32_t layer, const LayerwiseProgress& done,
                  LayerProgress& progress)
      : job_(job), layer_(layer), done_(done), progress_(progress) {}

  // The base rate and its decay over the last part of the budget, where the rate is automatic. `x`: the layer's input
  // before it is aggregated.
  void EstimateSchedule(const Tensor& x);
  void SetInput(LayerInput xhat) { xhat_ = std::move(xhat); }
  // The weights that the layer starts with: new ones, or those of a snapshot inside it.
  LayerState StartingWeights(const Snapshot* snapshot);
  void Begin(const Snapshot* snapshot);
  // The rule ended the last layer: from the best weights on the rate falls to 0, for a share of the epochs that led there.
  // Train nodes that were held out take part.
  void BeginCoolDown(uint32_t budget);
  // Whether held-out nodes take part in the steps: then they no longer tell which weights are better.
  bool GivesBack() const { return job_.evaluator.HoldsOut() && progress_.cooling_down; }

  void RunEpochs(uint32_t first, uint32_t count, std::span<double> losses) override;
  uint64_t StepsPerEpoch() const override { return steps_per_epoch_; }
  ValidationScore ScoreValidation() override { return job_.evaluator.ScoreValidation(*training_); }
  RowScores ScoreEvaluationNodes() override { return job_.evaluator.ScoreEvaluationNodes(*training_); }
  void KeepBest() override { progress_.best = training_->Read(); }
  void Save(Snapshot& snapshot) const override;

  // The best weights where there are some, else the current ones.
  LayerState FinalWeights();
  // What a stopping rule is told of the layer.
  LayerView View() const;
  // Forward and both weight gradients of all epochs; no gradient to the input.
  double Flops(const LayerState& state) const;

 private:
  // What the steps of the layer draw from.
  struct Samples {
    Array<uint32_t> rows;  // row of each sample in X̂; empty: row s
    Targets targets;
    uint64_t count = 0;
  };
  Samples DrawnFrom() const;
  size_t TrainedNodes() const;
  uint64_t StepsOf(uint64_t nodes) const;
  LayerSpec Spec() const;
  void Start(const LayerState& start);
  [[noreturn]] void ThrowAtFirstBadStep(uint32_t bad, double loss);

  const LayerwiseJob& job_;
  uint32_t layer_;
  const LayerwiseProgress& done_;
  LayerProgress& progress_;
  LayerInput xhat_;
  const Snapshot* snapshot_ =
      nullptr;                // that this process went on from inside the layer; null: it began the layer
  uint32_t first_epoch_ = 0;  // of this process
  uint64_t steps_per_epoch_ = 1;
  std::unique_ptr<LayerTraining> training_;
  Stopwatch since_begin_;
};

}  // namespace l2gcn
