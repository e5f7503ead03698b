// When is a layer whose rate the program found done? Decides by single nodes, the same ones at every look: they tell two
// states of a layer apart long before the F1 of a few hundred nodes does, since the nodes' own luck is the same in both.
// What counts of a node is its level: how far its answer is off (the probability of being wrong; with several labels
// 1 − their F1), and to a part its loss.
//
// A layer is done when the last part of its epochs brought next to nothing of what was gained on chance so far, or
// when nothing was better than the best look for a share of the epochs that led to it (train/course.h). Better is what
// exceeds a standard error of the nodes' differences, so that luck does not count. While nearly nothing was gained
// there is nothing to stop. The layer goes back to its best look.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "l2gcn/dataset.h"
#include "l2gcn/stop_policy.h"
#include "train/course.h"

namespace l2gcn {

// What a classifier that knows nothing loses, and how far its answers are off: with several labels it says none.
struct Chance {
  double loss, miss;
  bool several = false;  // labels a node
};
Chance ChanceOf(const Labels& labels);

class PairedStop final : public StopPolicy {
 public:
  explicit PairedStop(const Chance& chance, const Course& course = {}) : chance_(chance), course_(course) {}
  void BeginLayer(const LayerView& view) override;
  uint32_t EpochsUntilDecision(uint32_t epoch) const override;
  Decision Decide(const Observation& observation) override;
  bool WantsLooks() const override { return true; }
  bool KeepsBest() const override { return true; }
  std::string Name() const override { return "controller"; }
  std::vector<double> Memory() const override;
  void Restore(std::span<const double> memory) override;

 private:
  struct PastLook {
    double epoch, level;  // mean over the nodes
  };
  std::vector<float> LevelsOf(const Observation& observation) const;
  bool Better(std::span<const float> levels, double mean) const;
  bool Slow(double epoch) const;

  double LossPart() const { return chance_.several ? course_.labels_loss_part : course_.loss_part; }

  Chance chance_;
  Course course_;
  LayerView view_;
  std::vector<PastLook> looks_;
  PastLook best_{0, 0};
  std::vector<float> best_levels_;  // of the nodes at the best look
};

}  // namespace l2gcn
