#include "model/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/rng.h"
#include "l2gcn/model.h"

namespace l2gcn {
namespace {

Matrix FromRows(size_t cols, std::initializer_list<float> values) {
  return {Array<float>::CopyOf(std::vector<float>(values)), values.size() / cols, cols};
}

Dataset ThreeClasses() {
  Dataset dataset;
  dataset.graph.nodes = 5;
  dataset.labels.classes = 3;
  dataset.labels.classes_of = Array<int32_t>::CopyOf(std::vector<int32_t>{0, 1, 1, -1, 2});
  return dataset;
}

TEST(ScoreLogits, MultiClassCountsByHand) {
  const Dataset dataset = ThreeClasses();
  // Predicted 0, 1, 0, (unlabelled), 1.
  const Matrix logits = FromRows(3, {2, 1, 0, 0, 5, 1, 3, 2, 2, 9, 0, 0, 0, 1, 0});
  const Score score = ScoreLogits(dataset, logits, {}, Role::kNone);
  EXPECT_EQ(score.nodes, 4u);
  EXPECT_DOUBLE_EQ(score.micro_f1, 0.5);
  EXPECT_DOUBLE_EQ(score.baseline_f1, 0.5);  // class 1: 2 of 4
  EXPECT_DOUBLE_EQ(score.classes[0].precision, 0.5);
  EXPECT_DOUBLE_EQ(score.classes[0].recall, 1.0);
  EXPECT_DOUBLE_EQ(score.classes[1].recall, 0.5);
  EXPECT_EQ(score.classes[2].count, 1u);
  EXPECT_DOUBLE_EQ(score.macro_f1, (2.0 / 3 + 0.5 + 0.0) / 3);
}

TEST(ScoreLogits, OnlyTheRoleCountsAndNoneIsNan) {
  const Dataset dataset = ThreeClasses();
  const Matrix logits = FromRows(3, {2, 1, 0, 0, 5, 1, 3, 2, 2, 9, 0, 0, 0, 1, 0});
  Split split{"s", Array<uint8_t>::CopyOf(std::vector<uint8_t>{1, 1, 2, 3, 2})};
  EXPECT_DOUBLE_EQ(ScoreLogits(dataset, logits, split, Role::kTrain).micro_f1, 1.0);
  EXPECT_DOUBLE_EQ(ScoreLogits(dataset, logits, split, Role::kVal).micro_f1, 0.0);
  EXPECT_TRUE(std::isnan(ScoreLogits(dataset, logits, split, Role::kTest).micro_f1));
}

TEST(ScoreLogits, MultiLabelCountsByHand) {
  Dataset dataset;
  dataset.graph.nodes = 2;
  dataset.labels.multilabel = true;
  dataset.labels.classes = 3;
  dataset.labels.matrix = Array<uint8_t>::CopyOf(std::vector<uint8_t>{1, 0, 1, 0, 0, 1});
  const Score score = ScoreLogits(dataset, FromRows(3, {1, 1, -1, -1, -1, 2}), {}, Role::kNone);
  // tp 2, fp 1, fn 1.
  EXPECT_DOUBLE_EQ(score.micro_f1, 4.0 / 6);
  EXPECT_DOUBLE_EQ(score.baseline_f1, 2.0 * 3 / (3 + 6));
}

TEST(MeanLoss, IsTheMeanOverLabelledNodes) {
  const Dataset dataset = ThreeClasses();
  const std::vector<uint32_t> nodes = {0, 3, 4};  // node 3 has no label
  const Matrix logits = FromRows(3, {1, 0, 0, 50, 0, 0, 0, 0, 100});
  EXPECT_NEAR(MeanLoss(MakeContext(1), dataset.labels, nodes, logits), (std::log(std::exp(1.0) + 2) - 1) / 2,
              1e-12);
  EXPECT_TRUE(
      std::isnan(MeanLoss(MakeContext(1), dataset.labels, std::vector<uint32_t>{3}, FromRows(3, {1, 2, 3}))));

  Labels sets;
  sets.multilabel = true;
  sets.classes = 2;
  sets.matrix = Array<uint8_t>::CopyOf(std::vector<uint8_t>{1, 0});
  const double expected = (std::log1p(std::exp(-2.0)) + std::log1p(std::exp(3.0))) / 2;
  EXPECT_NEAR(MeanLoss(MakeContext(1), sets, std::vector<uint32_t>{0}, FromRows(2, {2, 3})), expected, 1e-12);
}

TEST(MeanLossAndMicroF1, AreTheSameBitsForAnyNumberOfThreads) {
  constexpr uint32_t kNodes = 40000, kClasses = 3;
  Labels labels;
  labels.classes = kClasses;
  labels.classes_of = Array<int32_t>::Allocate(kNodes);
  Matrix logits = Matrix::Allocate(kNodes, kClasses);
  std::vector<uint32_t> nodes(kNodes);
  const RandomStream stream(3, RandomUse::kGenerator, 5);
  double sum = 0;
  size_t right = 0;
  for (uint32_t i = 0; i < kNodes; ++i) {
    nodes[i] = i;
    labels.classes_of.mutable_data()[i] = static_cast<int32_t>(i % kClasses);
    float* row = logits.mutable_row(i);
    for (uint32_t c = 0; c < kClasses; ++c) row[c] = stream.Uniform(i * kClasses + c);
    sum += std::log(std::exp(row[0]) + std::exp(row[1]) + std::exp(row[2])) - row[i % kClasses];
    right += static_cast<size_t>(std::max_element(row, row + kClasses) - row) == i % kClasses;
  }
  const double loss = MeanLoss(MakeContext(1), labels, nodes, logits);
  EXPECT_NEAR(loss, sum / kNodes, 1e-6);
  EXPECT_EQ(loss, MeanLoss(MakeContext(3), labels, nodes, logits));
  EXPECT_DOUBLE_EQ(MicroF1(MakeContext(3), labels, nodes, logits), static_cast<double>(right) / kNodes);
}

TEST(LogitsToProbabilities, LeavesCopiesOfTheLogitsAlone) {
  const Matrix logits = {Array<float>::CopyOf(std::vector<float>{1, 2, 3}), 1, 3};
  Matrix probabilities = logits;
  LogitsToProbabilities(probabilities, false);
  EXPECT_EQ(logits.row(0)[2], 3.0f);
  EXPECT_LT(probabilities.row(0)[2], 1.0f);
}

TEST(LogitsToProbabilities, RowsSumToOneEvenWhenHuge) {
  Matrix logits = FromRows(2, {1000, 999, -1000, -1000});
  LogitsToProbabilities(logits, false);
  EXPECT_NEAR(logits.row(0)[0], 1 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_NEAR(logits.row(1)[1], 0.5, 1e-6);
}

}  // namespace
}  // namespace l2gcn
