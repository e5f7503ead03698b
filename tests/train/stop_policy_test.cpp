#include "train/stop_policy.h"

#include <gtest/gtest.h>

#include <vector>

namespace l2gcn {
namespace {

// Epochs a policy lets a given loss curve run.
uint32_t EpochsOf(StopPolicy& policy, const std::vector<double>& curve,
                  const std::vector<double>& validation = {}) {
  policy.BeginLayer({0, 1, static_cast<uint32_t>(curve.size()), 0});
  uint32_t epoch = 0;
  while (epoch < curve.size()) {
    epoch =
        std::min<uint32_t>(static_cast<uint32_t>(curve.size()), epoch + policy.EpochsUntilDecision(epoch));
    Observation observation{epoch, std::span(curve).first(epoch),
                            validation.empty() ? 0 : validation[epoch - 1]};
    if (policy.Decide(observation).stop) break;
  }
  return epoch;
}

TEST(FixedEpochs, RunsTheBudgetInOneStretch) {
  FixedEpochs policy;
  policy.BeginLayer({0, 2, 80, 0});
  EXPECT_EQ(policy.EpochsUntilDecision(0), 80u);
  EXPECT_EQ(EpochsOf(policy, std::vector<double>(7, 1.0)), 7u);
}

TEST(EarlyStopping, StopsAfterPatienceWithoutABetterLoss) {
  EarlyStopping policy(3, Watch::kLoss);
  EXPECT_EQ(EpochsOf(policy, {5, 4, 3, 3.5, 3.2, 3.1, 1, 1}), 6u);
  EXPECT_EQ(EpochsOf(policy, {5, 4, 3, 3.5, 2, 3, 3, 3, 0}),
            8u);  // a better loss in between starts the wait anew
  EXPECT_FALSE(policy.KeepsBest());
}

TEST(EarlyStopping, WatchesValidationAndMarksTheBest) {
  EarlyStopping policy(2, Watch::kValidationF1);
  EXPECT_TRUE(policy.WantsValidation());
  EXPECT_TRUE(policy.KeepsBest());
  EXPECT_EQ(EpochsOf(policy, {1, 1, 1, 1, 1, 1}, {.5, .6, .6, .55, .9, .9}), 4u);
}

}  // namespace
}  // namespace l2gcn
