// When is a layer whose rate the program found done? Decides by single nodes, the same ones at every look: they tell two
// states of a layer apart long before the F1 of a few hundred nodes does, since the nodes' own luck is the same in both.
// What counts of a node is its level: its loss in nats, in the last layer after one temperature has put the layer's
// confidence right (train/temperature_scaling.h), or, where nodes have several labels, 1 − their F1. Both because answers go on getting
// better long after the loss has turned. Where the thresholds of several labels are chosen after training (--threshold auto)
// answers at one half say little, and the loss counts there, too.
//
// A layer is done when doubling its epochs is no longer worth its price (train/auto_schedule.h). What doubling brings is read off
// the past: the mean level over the looks of the second half of the epochs against that over the quarter before. Means over
// looks, because single looks at a level rate jump about by more than a slow gain is. The price grows with the square of the
// share of the budget that the epochs are: a few epochs are nearly free, the whole budget is dear. It is a share of what was
// gained on chance: where little can be gained, as with noisy classes of which one holds most nodes, little is worth going on
// for. Of great gains no more counts than a limit, because beyond it a hundredth of a nat is about as many points of F1
// whatever was gained before. Layers with a norm, which go on gaining for longer, pay less, inner ones that are plain more than
// the last one.
//
// While nearly nothing was gained on chance there is nothing to stop. PriorBaseline is what the classes' shares among the train
// nodes tell, so that learning them does not count as a gain.
//
// A layer is done, too, when nothing was better than the best look, by more than luck, for a share of the epochs that led
// to it. The layer goes back to its best look.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "l2gcn/dataset.h"
#include "l2gcn/stop_policy.h"
#include "train/auto_schedule.h"

namespace l2gcn {

// The level of a classifier that knows the shares of the classes, or of each label, and nothing else.
struct PriorBaseline {
  double level;
  bool by_f1 = false;  // levels are 1 − F1 of a node's labels, and chance says none of them
};
// `choose_thresholds`: those of several labels are chosen after training.
PriorBaseline PriorBaselineOf(const Labels& labels, std::span<const uint32_t> train_nodes,
                              bool choose_thresholds = false);

class PlateauStopping final : public StopPolicy {
 public:
  explicit PlateauStopping(const PriorBaseline& chance, const AutoSchedule& schedule = {})
      : chance_(chance), schedule_(schedule) {}
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
    double epoch, level;  // mean over the nodes
  };
  bool Better() const;
  double MeanLevel(double after, double until) const;
  double Gained() const;
  double Price(double epoch) const;
  bool Slow(double epoch) const;

  PriorBaseline chance_;
  AutoSchedule schedule_;
  LayerView view_;
  std::vector<PastEvaluation> looks_;
  PastEvaluation best_{0, 0};
  std::vector<float> best_levels_, levels_;  // of the nodes, at the best look and at the last one
};

}  // namespace l2gcn
