// When is a layer whose rate the program found done? Decides by the losses of single nodes, the same ones at every
// look: losses of a few hundred nodes tell two states of a layer apart long before their F1 does, since the nodes'
// own luck is the same in both.
//
// A layer is done when the last part of its epochs brought next to nothing of what was gained on chance so far, or
// when nothing was better than the best look for a share of the epochs that led to it (train/course.h). Better is what
// exceeds a standard error of the nodes' differences, so that luck does not count. While nearly nothing was gained
// there is nothing to stop. The layer goes back to its best look.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "l2gcn/stop_policy.h"
#include "train/course.h"

namespace l2gcn {

class PairedStop final : public StopPolicy {
 public:
  // chance_loss: that of a classifier that knows nothing.
  explicit PairedStop(double chance_loss, const Course& course = {})
      : chance_loss_(chance_loss), course_(course) {}
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
    double epoch, loss;  // mean
  };
  bool Better(std::span<const float> losses, double mean) const;

  double chance_loss_;
  Course course_;
  LayerView view_;
  std::vector<PastLook> looks_;
  PastLook best_{0, 0};
  std::vector<float> best_losses_;  // of the nodes at the best look
};

}  // namespace l2gcn
