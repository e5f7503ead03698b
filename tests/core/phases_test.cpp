#include "core/phases.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace l2gcn {
namespace {

// Each phase adds up what the one before left in another order, so a task that began too early, ran twice or
// was left out changes the sums.
TEST(Phases, EveryTaskRunsOnceAndAfterThePhaseBefore) {
  for (uint32_t threads : {1u, 2u, 3u, 8u}) {
    const Context context = MakeContext(threads);
    constexpr uint32_t kPhases = 400;
    std::vector<uint64_t> values(37), before(37);
    std::iota(values.begin(), values.end(), 1);
    std::vector<uint64_t> expected = values;
    for (uint32_t phase = 0; phase < kPhases; ++phase) {
      const std::vector<uint64_t> old = expected;
      for (size_t i = 0; i < old.size(); ++i)
        expected[i] = 3 * old[i] + old[(i * 5 + phase) % old.size()] + 1;
    }
    before = values;
    uint32_t phase = 0;
    RunPhases(
        context, threads, {37, threads},
        [&](const PhaseTask& task) {
          values[task.task] = 3 * before[task.task] + before[(task.task * 5 + phase) % before.size()] + 1;
        },
        [&]() -> PhasePlan {
          before = values;
          ++phase;
          return {phase == kPhases ? 0u : 37u, 1 + phase % threads};
        });
    EXPECT_EQ(values, expected) << threads;
  }
}

TEST(Phases, WorkerNumbersAreNeverSharedAndStayBelowMost) {
  const Context context = MakeContext(6);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<bool> alone{true};
  int phases = 0;
  RunPhases(
      context, 4, {50, 4},
      [&](const PhaseTask& task) {
        ASSERT_LT(task.worker, 4u);
        ASSERT_LE(task.next, task.tasks);
        ASSERT_LE(task.share_end, task.tasks);
        ASSERT_LT(task.task, task.share_end);
        if (inside[task.worker]++ != 0) alone = false;
        std::this_thread::yield();
        --inside[task.worker];
      },
      [&]() -> PhasePlan {
        return {++phases == 60 ? 0u : 50u, 4};
      });
  EXPECT_TRUE(alone.load());
}

// A worker that is stopped between tasks holds nobody up: here one never gets beyond its first phase until
// the others have run a hundred more.
TEST(Phases, TheOthersGoOnWithoutAWorkerThatHoldsNoTask) {
  const Context context = MakeContext(3);
  std::atomic<uint32_t> phases{0};
  std::atomic<uint64_t> tasks{0};
  RunPhases(
      context, 3, {3, 3},
      [&](const PhaseTask& task) {
        ++tasks;
        // In the first phases the last worker is slow; everything it has not taken is done by others.
        if (task.worker == 2 && phases < 100) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      },
      [&]() -> PhasePlan {
        return {++phases == 300 ? 0u : 3u, 3};
      });
  EXPECT_EQ(tasks.load(), 900u);
}

// Two heads and three others in each of seven units, in turns with phases without units.
TEST(Phases, TheOthersOfAUnitBeginWhenItsHeadsAreDone) {
  constexpr uint32_t kUnits = 7, kHeads = 2, kUnit = 5, kPhases = 300;
  for (uint32_t threads : {1u, 2u, 3u, 8u}) {
    const Context context = MakeContext(threads);
    std::vector<std::atomic<uint32_t>> heads(kUnits), runs(kUnits * kUnit);
    std::atomic<bool> in_order{true};
    uint32_t phase = 0;
    RunPhases(
        context, threads, {kUnits * kUnit, threads, kUnit},
        [&](const PhaseTask& task) {
          ++runs[task.task];
          if (phase % 2 == 1) return;
          const uint32_t unit = task.task / kUnit;
          if (task.task % kUnit < kHeads) {
            if (task.worker == threads - 1) std::this_thread::yield();  // others find that it is under way
            ++heads[unit];
          } else if (heads[unit] != kHeads * (phase / 2 + 1)) {
            in_order = false;
          }
          if (task.share_end % kUnit != 0 || task.first % kUnit != 0 || task.task >= task.share_end)
            in_order = false;
        },
        [&]() -> PhasePlan {
          ++phase;
          return {phase == kPhases ? 0 : kUnits * kUnit, 1 + phase % threads, phase % 2 == 1 ? 1 : kUnit};
        },
        kHeads);
    EXPECT_TRUE(in_order.load()) << threads;
    for (const auto& count : runs) EXPECT_EQ(count.load(), kPhases) << threads;
  }
}

TEST(Phases, AnExceptionInAHeadEndsTheRun) {
  for (uint32_t threads : {1u, 4u}) {
    const Context context = MakeContext(threads);
    std::atomic<bool> went_on{false};
    EXPECT_THROW(RunPhases(
                     context, threads, {12, threads, 3},
                     [&](const PhaseTask& task) {
                       if (task.task == 3) throw std::runtime_error("head");
                       if (task.task == 5) went_on = true;
                     },
                     [&]() -> PhasePlan { return {}; }, 2),
                 std::runtime_error);
    EXPECT_FALSE(went_on.load());
  }
}

TEST(Phases, AnExceptionInATaskEndsTheRunAndReachesTheCaller) {
  for (uint32_t threads : {1u, 2u, 5u}) {
    const Context context = MakeContext(threads);
    for (uint32_t bad = 0; bad < 20; ++bad) {
      uint32_t phase = 0;
      std::atomic<uint32_t> after{0};
      EXPECT_THROW(RunPhases(
                       context, threads, {10, threads},
                       [&](const PhaseTask& task) {
                         if (phase == bad % 4 && task.task == bad % 10) throw std::runtime_error("task");
                         if (phase > bad % 4) ++after;
                       },
                       [&]() -> PhasePlan {
                         ++phase;
                         return {10, threads};
                       }),
                   std::runtime_error);
      EXPECT_EQ(after.load(), 0u);
    }
    // The threads are as good as before.
    int phases = 0;
    std::atomic<int> tasks{0};
    RunPhases(
        context, threads, {7, threads}, [&](const PhaseTask&) { ++tasks; },
        [&]() -> PhasePlan {
          return {++phases == 5 ? 0u : 7u, threads};
        });
    EXPECT_EQ(tasks.load(), 35);
  }
}

TEST(Phases, AnExceptionBetweenPhasesEndsTheRunToo) {
  const Context context = MakeContext(3);
  int phases = 0;
  EXPECT_THROW(RunPhases(
                   context, 3, {9, 3}, [](const PhaseTask&) {},
                   [&]() -> PhasePlan {
                     if (++phases == 5) throw std::runtime_error("between");
                     return {9, 3};
                   }),
               std::runtime_error);
  EXPECT_EQ(phases, 5);
}

TEST(Phases, TeamsShrinkAndGrow) {
  const Context context = MakeContext(8);
  uint32_t phases = 0, allowed = 8;
  std::atomic<bool> within{true};
  std::atomic<uint32_t> tasks{0};
  RunPhases(
      context, 8, {16, 8},
      [&](const PhaseTask& task) {
        if (task.worker >= allowed) within = false;
        ++tasks;
      },
      [&]() -> PhasePlan {
        allowed = 1 + phases * 7 % 8;
        return {++phases == 500 ? 0u : 16u, allowed};
      });
  EXPECT_TRUE(within.load());
  EXPECT_EQ(tasks.load(), 500u * 16);
}

}  // namespace
}  // namespace l2gcn
