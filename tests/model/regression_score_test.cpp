// The figures of a regression against those of scikit-learn and SciPy, on the cases of tests/golden/regression.txt (see
// make_regression.py), and what several targets and missing ones make of them.
#include "model/regression_score.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "l2gcn/error.h"
#include "model/target_scaling.h"

namespace l2gcn {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

std::vector<double> NumbersOf(const std::string& line) {
  std::istringstream words(line);
  std::vector<double> numbers;
  for (std::string word; words >> word;) numbers.push_back(std::stod(word));
  return numbers;
}

Matrix MatrixOf(size_t cols, const std::vector<float>& values) {
  return {Array<float>::CopyOf(values), values.size() / cols, cols};
}

// Two targets of four nodes: the first is missing once, the second is constant on the train nodes 0 and 1.
Dataset TwoTargets() {
  Dataset dataset;
  dataset.name = "two";
  dataset.graph.nodes = 4;
  dataset.labels.classes = 2;
  dataset.labels.targets = MatrixOf(2, {1, 5, 3, 5, kMissing, 7, 8, 1});
  dataset.class_names = {"a", "b"};
  return dataset;
}

TEST(RegressionScore, FiguresEqualTheGoldenOnes) {
  std::ifstream file(std::string(L2GCN_SOURCE_DIR) + "/tests/golden/regression.txt");
  std::string truth, predicted, figures;
  size_t cases = 0;
  for (; std::getline(file, truth); ++cases) {
    ASSERT_TRUE(std::getline(file, predicted) && std::getline(file, figures));
    const std::vector<double> expected = NumbersOf(figures);
    const Score::Numbers found = FiguresOf(NumbersOf(truth), NumbersOf(predicted));
    const double all[] = {found.r2, found.mae, found.rmse, found.spearman};
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(std::isnan(all[i]), std::isnan(expected[i])) << "case " << cases << ", figure " << i;
      if (std::isnan(expected[i])) continue;
      EXPECT_NEAR(all[i], expected[i], 1e-12 * std::max(1.0, std::abs(expected[i])))
          << "case " << cases << ", figure " << i;
    }
  }
  EXPECT_EQ(cases, 300u);
}

TEST(RegressionScore, TargetsAreScoredWhereTheyAreKnownAndAveraged) {
  const Dataset dataset = TwoTargets();
  const Split split{"s", Array<uint8_t>::CopyOf(std::vector<uint8_t>{1, 1, 3, 3})};
  const Matrix predicted = MatrixOf(2, {1, 5, 3, 5, 0, 6, 6, 2});
  const std::vector<uint32_t> test = {2, 3};
  const Score score = ScoreRegression(dataset, predicted, split, test);
  ASSERT_EQ(score.targets.size(), 2u);
  EXPECT_EQ(score.targets[0].count, 1u);
  EXPECT_TRUE(std::isnan(score.targets[0].model.r2));
  EXPECT_DOUBLE_EQ(score.targets[0].model.mae, 2);
  EXPECT_DOUBLE_EQ(score.targets[0].baseline.mae, 6);  // 8 against the mean of 1 and 3
  EXPECT_DOUBLE_EQ(score.targets[1].model.mae, 1);
  EXPECT_DOUBLE_EQ(score.regression.mae, 1.5);
  EXPECT_DOUBLE_EQ(score.regression.r2, score.targets[1].model.r2);
  EXPECT_EQ(score.baseline, "train mean");
}

TEST(RegressionScore, APredictionThatIsNotFiniteHasNoFigures) {
  const std::vector<double> truth = {1, 2}, predicted = {1, std::numeric_limits<double>::infinity()};
  EXPECT_TRUE(std::isnan(FiguresOf(truth, predicted).mae));
}

TEST(TargetScaling, StandardisesByTrainNodesAndGoesBack) {
  Dataset dataset = TwoTargets();
  const std::vector<uint32_t> train = {0, 1, 2, 3};
  const Model::TargetScaling scaling = FitTargetScaling(dataset, train);
  EXPECT_DOUBLE_EQ(scaling.mean[0], 4);
  EXPECT_DOUBLE_EQ(scaling.mean[1], 4.5);
  Matrix values = StandardisedLabels(dataset.labels, scaling).targets;
  EXPECT_TRUE(std::isnan(values.row(2)[0]));
  UndoTargetScaling(scaling, values);
  EXPECT_FLOAT_EQ(values.row(3)[0], 8);
  EXPECT_FLOAT_EQ(values.row(2)[1], 7);
}

TEST(TargetScaling, RefusesTargetsThatTeachNothing) {
  const Dataset dataset = TwoTargets();
  const auto message = [&](const std::vector<uint32_t>& train) {
    try {
      FitTargetScaling(dataset, train);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message({0, 1}).find("target 'b' is 5 for all 2 train nodes"), std::string::npos);
  EXPECT_NE(message({2}).find("no train node has target 'a'"), std::string::npos);
}

}  // namespace
}  // namespace l2gcn
