#include "core/team_size.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace l2gcn {
namespace {

// Steps whose time is a function of the number of threads; returns the mean number over the last half.
double MeanSize(TeamSize team, int steps, const std::function<double(uint32_t, int)>& seconds) {
  double sum = 0;
  for (int step = 0; step < steps; ++step) {
    const uint32_t size = team.size();
    EXPECT_GE(size, 1u);
    EXPECT_LE(size, team.most());
    if (step >= steps / 2) sum += size;
    team.Took(seconds(size, step));
  }
  return sum / (steps - steps / 2);
}

TEST(TeamSize, GrowsAsLongAsMoreThreadsHelp) {
  EXPECT_GT(MeanSize({2, 16}, 4000, [](uint32_t n, int) { return 1.0 / n + 0.001 * n; }), 15);
}

TEST(TeamSize, FindsTheBestNumberFromBothSides) {
  const auto best_at_four = [](uint32_t n, int) { return 1.0 / n + 0.06 * n; };
  EXPECT_NEAR(MeanSize({1, 16}, 4000, best_at_four), 4, 0.6);
  EXPECT_NEAR(MeanSize({16, 16}, 4000, best_at_four), 4, 0.6);
}

TEST(TeamSize, ShrinksWhereMoreThreadsCost) {
  EXPECT_LT(MeanSize({8, 8}, 4000, [](uint32_t n, int) { return 1.0 + 0.5 * n; }), 1.2);
}

TEST(TeamSize, KeepsTheNumberWhereItMakesNoDifference) {
  EXPECT_NEAR(MeanSize({4, 8}, 20000, [](uint32_t, int step) { return 1 + 0.02 * std::sin(step); }), 4, 0.3);
}

// Stalls of a shared machine fall on single steps, whatever their number of threads.
TEST(TeamSize, StallsOfTheMachineDoNotDriveItAway) {
  const auto seconds = [](uint32_t n, int step) {
    return 1.0 / n + (uint32_t(step) * 2654435761u % 97 == 0 ? 5.0 : 0.0);
  };
  EXPECT_GT(MeanSize({8, 8}, 20000, seconds), 7.5);
}

TEST(TeamSize, FollowsAChange) {
  const auto seconds = [](uint32_t n, int step) { return step < 2000 ? 1.0 + 0.5 * n : 1.0 / n; };
  EXPECT_GT(MeanSize({4, 4}, 200000, seconds), 3.8);
}

TEST(TeamSize, TrialsOfSlowNumbersAreShort) {
  TeamSize team(2, 2);
  int slow = 0;
  for (int step = 0; step < 10000; ++step) {
    if (team.size() == 1) ++slow;
    team.Took(team.size() == 1 ? 2.0 : 1.0);
  }
  EXPECT_LT(slow, 60);
}

}  // namespace
}  // namespace l2gcn
