// One layer while it trains: what its steps draw from, its learning-rate schedule, its best weights.
#pragma once

#include <memory>
#include <span>

#include "train/epoch_loop.h"
#include "train/evaluator.h"
#include "train/layerwise_progress.h"
#include "train/layerwise_trainer.h"

namespace l2gcn {

// The inputs that all layers of a training share.
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
  // After the stopping rule ended the last layer: the rate decays to 0, from the best weights on, over a share of the epochs
  // that led to them. Held-out train nodes take part.
  void BeginCoolDown(uint32_t budget);
  // Whether held-out nodes take part in the steps: then their losses no longer show which weights are better.
  bool GivesBack() const { return job_.evaluator.HoldsOut() && progress_.cooling_down; }

  void RunEpochs(uint32_t first, uint32_t count, std::span<double> losses) override;
  uint64_t StepsPerEpoch() const override { return steps_per_epoch_; }
  Observation::Validation ScoreValidation() override { return job_.evaluator.ScoreValidation(*training_); }
  RowScores ScoreEvaluationNodes() override { return job_.evaluator.ScoreEvaluationNodes(*training_); }
  void KeepBest() override { progress_.best = training_->Read(); }
  void Save(Snapshot& snapshot) const override;

  // The best weights if any were kept, else the current ones.
  LayerState FinalWeights();
  // The layer as a stopping rule sees it.
  LayerView View() const;
  // Floating-point operations of all epochs: the forward pass and both weight gradients; no gradient of the input.
  double Flops(const LayerState& state) const;

 private:
  // The nodes that the steps of the layer draw from.
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
  // The snapshot inside this layer that this process resumed from; null: it began the layer itself.
  const Snapshot* snapshot_ = nullptr;
  uint32_t first_epoch_ = 0;  // the first epoch that this process trained
  uint64_t steps_per_epoch_ = 1;
  std::unique_ptr<LayerTraining> training_;
  Stopwatch since_begin_;
};

}  // namespace l2gcn
