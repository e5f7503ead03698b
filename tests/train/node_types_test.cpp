// Training on several types of nodes.
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/shop.h"
#include "l2gcn/train.h"

namespace l2gcn {
namespace {

class NodeTypes : public ::testing::Test {
 protected:
  Dataset Open(bool item_columns, bool oracle) {
    Shop::Write(folder_.path(), item_columns, oracle);
    return OpenDataset(MakeContext(2), "", Shop::Options(folder_.path()));
  }
  double TestF1(const Dataset& dataset) {
    const TrainConfig config = ResolveConfig({{"epochs", "15"}, {"hidden", "32"}}, dataset);
    RunOptions options;
    options.write = false;
    return RunTraining(MakeContext(2), dataset, config, options).seeds[0].f1_test;
  }
  TemporaryFolder folder_;
};

// Prices stand around a thousand and differ by a few: they help only where they are scaled among items.
TEST_F(NodeTypes, ColumnsOfOneTypeDecideLabelsOfAnother) {
  const double with_items = TestF1(Open(true, false));
  const double without = TestF1(Open(false, false));
  const double oracle = TestF1(Open(true, true));
  EXPECT_GE(with_items, without + 0.10);
  EXPECT_GE(with_items, oracle - 0.01);
}

TEST_F(NodeTypes, InductiveTrainingIsRefused) {
  const Dataset dataset = Open(true, false);
  const TrainConfig config = ResolveConfig({{"setting", "inductive"}}, dataset);
  RunOptions options;
  options.write = false;
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage, [&] { RunTraining(MakeContext(1), dataset, config, options); }),
                  "several types of nodes");
}

}  // namespace
}  // namespace l2gcn
