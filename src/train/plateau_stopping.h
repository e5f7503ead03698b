// Stops a layer when further epochs no longer pay (--stop plateau).
//
// The rule compares the losses of single nodes, the same ones at every evaluation. The difference between two states of a layer
// then has a small standard error, because what is particular to a node cancels: a few hundred nodes suffice. The loss of a node
// is
//   its cross-entropy in nats; in the last layer after temperature scaling (train/temperature_scaling.h), since answers go on
//   improving long after the raw loss has turned; or
//   1 − F1 over the labels of the node, where nodes have several labels. Where thresholds are chosen after training
//   (--threshold auto) answers at one half mean little, and the cross-entropy counts.
//
// A layer stops when doubling its epochs would bring less than the improvement threshold (train/auto_schedule.h). The expected
// improvement is read off the past: the mean loss over the evaluations of the second half of the epochs against the mean over
// the quarter before. Means, because single evaluations at a constant rate vary by more than a slow improvement. The threshold
// grows with the square of the share of the budget spent, so a few epochs are nearly free and the whole budget is expensive. It
// is relative to the improvement on the prior baseline so far: where little can be learned, as with noisy classes of which one
// holds most nodes, small improvements are worth going on for. That improvement is capped, because beyond the cap a hundredth of
// a nat is worth about as much F1 however much was learned before.
//
// A layer that has barely improved on the prior baseline never stops by this rule. The prior baseline predicts the shares of the
// classes among the train nodes, so learning them does not count.
//
// A layer also stops when no evaluation was significantly better than the best one for a share of the epochs that led to it. It
// returns to the weights of the best evaluation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "l2gcn/dataset.h"
#include "l2gcn/stop_policy.h"
#include "train/auto_schedule.h"

namespace l2gcn {

// A classifier that knows the shares of the classes, or of each label, and nothing else.
struct PriorBaseline {
  double loss;
  bool by_f1 = false;  // losses are 1 − F1 of a node's labels; the baseline predicts none of them
};
// `choose_thresholds`: the thresholds of several labels are chosen after training.
PriorBaseline PriorBaselineOf(const Labels& labels, std::span<const uint32_t> train_nodes,
                              bool choose_thresholds = false);

class PlateauStopping final : public StopPolicy {
 public:
  explicit PlateauStopping(const PriorBaseline& prior, const AutoSchedule& schedule = {})
      : prior_(prior), schedule_(schedule) {}
  void BeginLayer(const LayerView& view) override;
  uint32_t EpochsUntilDecision(uint32_t epoch) const override;
  Decision Decide(const Observation& observation) override;
  bool WantsNodeLosses() const override { return true; }
  bool KeepsBest() const override { return true; }
  std::string Name() const override { return "plateau"; }
  std::vector<double> Memory() const override;
  void Restore(std::span<const double> memory) override;

 private:
  struct PastEvaluation {
    double epoch, loss;  // mean over the nodes
  };
  bool Better() const;
  double MeanLoss(double after, double until) const;
  double Improvement() const;
  double ImprovementThreshold(double epoch) const;
  bool IsPlateau(double epoch) const;

  PriorBaseline prior_;
  AutoSchedule schedule_;
  LayerView view_;
  std::vector<PastEvaluation> evaluations_;
  PastEvaluation best_{0, 0};
  std::vector<float> best_losses_, losses_;  // (nodes) at the best evaluation and at the last one
};

}  // namespace l2gcn
