// The bytes that ranks send each other, by counts alone.
#include "pipeline/exchange_walk.h"

#include <gtest/gtest.h>

namespace l2gcn {
namespace {

constexpr uint32_t kThree = 3;

RunCounts OneDenseLayer() {
  RunCounts counts;
  counts.nodes = counts.train = 100;
  counts.entries = 300;
  counts.features = 10;
  counts.classes = 3;
  counts.batch = 30;
  counts.hidden = {8};
  counts.epochs = {2};
  return counts;
}

uint64_t BytesOf(const RunCounts& counts, const LayerMoves& moves) {
  const StepChoice shared{.possible = true, .shared = true};
  ExchangeWalk walk(counts, kThree, {.steps = {&shared, 1}});
  walk.Train({&moves, 1});
  return walk.bytes();
}

// 100 samples in batches of 30: three steps and a short one.
TEST(ExchangeWalk, AShortBatchThatIsLeftOutSendsNoGradient) {
  RunCounts counts = OneDenseLayer();
  const LayerMoves moves{.epochs = 2, .samples = 100, .begun = 1, .states = 1};
  const uint64_t all = BytesOf(counts, moves);
  counts.drop_last = true;
  EXPECT_EQ(all - BytesOf(counts, moves), (kThree - 1) * 2 * 2 * StepsOf(counts, 0).GradientBytes());
}

// Fewer samples than a batch has are a batch, which is never short.
TEST(ExchangeWalk, FewSamplesMakeOneStep) {
  RunCounts counts = OneDenseLayer();
  const LayerMoves moves{.epochs = 2, .samples = 20, .begun = 1, .states = 1};
  const uint64_t all = BytesOf(counts, moves);
  counts.drop_last = true;
  EXPECT_EQ(all, BytesOf(counts, moves));
  EXPECT_EQ(counts.StepsOver(20), 1u);
  EXPECT_EQ(counts.StepsOver(60), 2u);
  EXPECT_EQ(counts.StepsOver(0), 0u);
}

}  // namespace
}  // namespace l2gcn
