#include "train/class_weights.h"

#include <gtest/gtest.h>

#include "small_dataset.h"

namespace l2gcn {
namespace {

TEST(ClassWeights, BalancedAsScikitLearnHasIt) {
  Dataset dataset = SmallDataset();
  const std::vector<uint32_t> nodes = {0, 3, 6, 1, 4, 2, 9, 12};  // 5 red, 2 green, 1 blue
  TrainConfig config;
  EXPECT_TRUE(ClassWeightsOf(MakeContext(1), dataset, nodes, config).empty());
  config.balanced_classes = true;
  const Array<float> weights = ClassWeightsOf(MakeContext(1), dataset, nodes, config);
  ASSERT_EQ(weights.size(), 3u);
  EXPECT_FLOAT_EQ(weights[0], 8.0f / (3 * 5));
  EXPECT_FLOAT_EQ(weights[1], 8.0f / (3 * 2));
  EXPECT_FLOAT_EQ(weights[2], 8.0f / (3 * 1));
}

TEST(ClassWeights, OfLabelsEqualOnesAndZeros) {
  const Dataset dataset = SmallDataset(true);
  const std::vector<uint32_t> nodes = {0, 6, 12, 18};  // label 0 is on everywhere, the others nowhere
  TrainConfig config;
  config.balanced_classes = true;
  const Array<float> all = ClassWeightsOf(MakeContext(1), dataset, nodes, config);
  for (size_t c = 0; c < 3; ++c) EXPECT_EQ(all[c], 1.0f) << c;
  const std::vector<uint32_t> mixed = {0, 2, 6, 8};  // label 2 is on for two of four
  EXPECT_FLOAT_EQ(ClassWeightsOf(MakeContext(1), dataset, mixed, config)[2], 1.0f);
  const std::vector<uint32_t> rare = {0, 2, 6, 12};  // for one of four
  EXPECT_FLOAT_EQ(ClassWeightsOf(MakeContext(1), dataset, rare, config)[2], 3.0f);
}

}  // namespace
}  // namespace l2gcn
