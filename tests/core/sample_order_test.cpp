#include "core/sample_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace l2gcn {
namespace {

EpochOrder OrderFor(uint32_t samples, size_t columns, uint32_t epoch = 3) {
  return EpochOrder(samples, columns, 512, RandomStream(5, RandomUse::kShuffle, 0, epoch));
}

TEST(EpochOrderTest, SmallLayersAreShuffledAsOne) {
  const EpochOrder order = OrderFor(1000, 100);
  const Permutation whole(1000, RandomStream(5, RandomUse::kShuffle, 0, 3));
  for (uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(order(i), whole(i));
  EXPECT_EQ(order.block, 0u);
}

TEST(EpochOrderTest, SparseRowsAreShuffledAsOneHoweverMany) { EXPECT_EQ(OrderFor(50000000, 0).block, 0u); }

TEST(EpochOrderTest, IsABijectionForAnySizeOfTheLastWindow) {
  // 4, 1 and 3 samples a block; the counts leave whole and cut blocks, whole and cut windows.
  for (const auto& [samples, columns] : std::vector<std::pair<uint32_t, size_t>>{{17000, 1024},
                                                                                 {16384, 1024},
                                                                                 {20480, 1024},
                                                                                 {16391, 1024},
                                                                                 {1100, 20000},
                                                                                 {3333, 5400},
                                                                                 {9216, 5400}}) {
    const EpochOrder order = OrderFor(samples, columns);
    ASSERT_GT(order.block, 0u);
    std::vector<char> seen(samples, 0);
    for (uint32_t i = 0; i < samples; ++i) {
      ASSERT_LT(order(i), samples);
      ++seen[order(i)];
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), samples) << samples << " × " << columns;
  }
}

TEST(EpochOrderTest, AWindowTakesItsBlocksFromAllOverTheSamples) {
  constexpr uint32_t kSamples = 100000;
  const EpochOrder order = OrderFor(kSamples, 1024);
  std::set<uint32_t> blocks;
  double sum = 0, neighbours = 0;
  for (uint32_t i = 0; i < order.window; ++i) {
    blocks.insert(order(i) / order.block);
    sum += order(i);
    neighbours += i > 0 && order(i) == order(i - 1) + 1 ? 1 : 0;
  }
  EXPECT_EQ(blocks.size(), kWindowBlocks);
  EXPECT_NEAR(sum / order.window / kSamples, 0.5, 0.1);  // 512 uniform blocks: a standard error of 0.013
  EXPECT_LT(neighbours, 16);                             // about one is expected
}

TEST(EpochOrderTest, EpochsAndWindowsDiffer) {
  const EpochOrder first = OrderFor(100000, 1024, 0), second = OrderFor(100000, 1024, 1);
  uint32_t same_epoch = 0, same_window = 0;
  for (uint32_t i = 0; i < first.window; ++i) {
    same_epoch += first(i) == second(i) ? 1 : 0;
    same_window += first(i) % first.block == first(i + first.window) % first.block ? 1 : 0;
  }
  EXPECT_LT(same_epoch, 8u);
  EXPECT_LT(same_window, first.window / 2);  // a quarter is expected
}

TEST(EpochOrderTest, RunsOfAWindowHoldTheSamplesWhereTheRingIsAskedForThem) {
  for (const uint32_t samples : {17003u, 16384u, 17408u}) {
    const EpochOrder order = OrderFor(samples, 1024);
    for (uint32_t window = 0; window < order.windows(); ++window) {
      std::vector<uint32_t> ring(kRingWindows * order.window, ~0u);  // sample in each row
      const uint64_t number = 5 * uint64_t{order.windows()} + window;
      for (uint32_t row = 0; row < order.SizeOf(window);) {
        const EpochOrder::Run run = order.RunAt(window, row);
        for (uint32_t i = 0; i < run.count; ++i)
          ring[number % kRingWindows * order.window + run.row + i] = run.sample + i;
        row += run.count;
      }
      for (uint32_t i = 0; i < order.SizeOf(window); ++i) {
        const uint32_t position = window * order.window + i;
        ASSERT_EQ(ring[order.RingRow(position, 5 * uint64_t{order.windows()})], order(position)) << samples;
      }
    }
  }
}

TEST(EpochOrderTest, ABatchReachesOverTwoWindowsAtMost) {
  const EpochOrder order(1000000, 100, 50000, RandomStream(5, RandomUse::kShuffle, 0, 0));
  EXPECT_GE(order.window, 50000u);
}

}  // namespace
}  // namespace l2gcn
