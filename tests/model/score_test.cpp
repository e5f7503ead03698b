// Every figure of a score against scikit-learn's, on the 1,000 cases of tests/golden/metrics.txt (see
// make_metrics.py), and by hand where scikit-learn has no word for it.
#include "model/score.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "l2gcn/error.h"
#include "model/thresholds.h"

namespace l2gcn {
namespace {

struct GoldenCase {
  Dataset dataset;
  Matrix logits, probabilities;  // (nodes × classes)
  std::vector<double> expected;
};

uint32_t DigitOf(char c) { return static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10); }

GoldenCase ParseCase(const std::string& head, const std::string& figures) {
  GoldenCase one;
  std::istringstream words(head), numbers(figures);
  std::string kind, word;
  uint32_t classes = 0;
  words >> kind >> classes;
  std::vector<std::string> nodes;
  while (words >> word) nodes.push_back(word);
  Labels& labels = one.dataset.labels;
  one.dataset.graph.nodes = static_cast<uint32_t>(nodes.size());
  labels.multilabel = kind == "multi";
  labels.classes = classes;
  if (labels.multilabel) labels.matrix = Array<uint8_t>::Zeros(nodes.size() * classes);
  if (!labels.multilabel) labels.classes_of = Array<int32_t>::Zeros(nodes.size());
  one.probabilities = Matrix::Allocate(nodes.size(), classes);
  one.logits = Matrix::Allocate(nodes.size(), classes);
  for (size_t i = 0; i < nodes.size(); ++i) {
    float sum = 0;
    for (uint32_t c = 0; c < classes; ++c) sum += static_cast<float>(DigitOf(nodes[i][c]));
    for (uint32_t c = 0; c < classes; ++c) {
      const float probability = static_cast<float>(DigitOf(nodes[i][c])) / (labels.multilabel ? 32.0f : sum);
      one.probabilities.mutable_row(i)[c] = probability;
      one.logits.mutable_row(i)[c] = labels.multilabel ? probability - 0.5f : probability;
      if (labels.multilabel)
        labels.matrix.mutable_data()[i * classes + c] = static_cast<uint8_t>(nodes[i][classes + 1 + c] - '0');
    }
    if (!labels.multilabel)
      labels.classes_of.mutable_data()[i] = static_cast<int32_t>(DigitOf(nodes[i][classes + 1]));
  }
  while (numbers >> word) one.expected.push_back(std::stod(word));
  return one;
}

TEST(Score, EqualsScikitLearnOnAThousandCases) {
  std::ifstream file(std::string(L2GCN_SOURCE_DIR) + "/tests/golden/metrics.txt");
  const Context context = MakeContext(1);
  const char* names[] = {"micro F1", "macro F1",          "accuracy", "balanced accuracy",
                         "ROC AUC",  "average precision", "log loss", "calibration error"};
  size_t cases = 0;
  for (std::string head, figures; std::getline(file, head) && std::getline(file, figures); ++cases) {
    const GoldenCase one = ParseCase(head, figures);
    const Score s =
        ScorePredictions(context, one.dataset, one.logits, one.probabilities, {}, Role::kNone, {});
    const double got[] = {s.micro_f1, s.macro_f1,          s.accuracy, s.balanced_accuracy,
                          s.roc_auc,  s.average_precision, s.log_loss, s.calibration_error};
    ASSERT_EQ(one.expected.size(), std::size(got)) << head;
    for (size_t i = 0; i < std::size(got); ++i) {
      if (std::isnan(one.expected[i]) || std::isnan(got[i])) {
        EXPECT_EQ(std::isnan(one.expected[i]), std::isnan(got[i])) << names[i] << " of " << head;
      } else {
        EXPECT_NEAR(got[i], one.expected[i], 1e-12) << names[i] << " of " << head;
      }
    }
  }
  EXPECT_EQ(cases, 1000u);
}

Dataset TwoClasses(std::vector<int32_t> truth) {
  Dataset dataset;
  dataset.graph.nodes = static_cast<uint32_t>(truth.size());
  dataset.labels.classes = 2;
  dataset.labels.classes_of = Array<int32_t>::CopyOf(truth);
  return dataset;
}

Matrix Margins(const std::vector<float>& margins) {
  Matrix logits = Matrix::Allocate(margins.size(), 2);
  for (size_t i = 0; i < margins.size(); ++i) {
    logits.mutable_row(i)[0] = 0;
    logits.mutable_row(i)[1] = margins[i];
  }
  return logits;
}

TEST(Score, TheBaselineIsTheTrainNodesMajorityInEveryPart) {
  const Dataset dataset = TwoClasses({0, 0, 0, 1, 1, 1, 1, 0});
  const Matrix logits = Margins({-1, -1, -1, 1, 1, 1, 1, -1});
  const Split split{"s", Array<uint8_t>::CopyOf(std::vector<uint8_t>{1, 1, 1, 1, 3, 3, 3, 3})};
  EXPECT_DOUBLE_EQ(ScoreClasses(dataset, logits, split, Role::kTrain).baseline_f1, 0.75);
  const Score test = ScoreClasses(dataset, logits, split, Role::kTest);
  EXPECT_DOUBLE_EQ(test.baseline_f1, 0.25);  // class 0, though class 1 is the larger here
  EXPECT_DOUBLE_EQ(test.baseline_macro_f1, (2 * 0.25 / 1.25) / 2);
  EXPECT_EQ(test.baseline, "majority class 0");
  EXPECT_DOUBLE_EQ(test.micro_f1, 1);
}

TEST(Score, ConfusionCountsTruthByRow) {
  const Dataset dataset = TwoClasses({0, 0, 1, 1, 1});
  const Score score = ScoreClasses(dataset, Margins({-1, 1, 1, 1, -1}), {}, Role::kNone);
  EXPECT_EQ(score.confusion, (std::vector<uint64_t>{1, 1, 1, 2}));
}

TEST(Score, LogitsThatAreNotFiniteAreRefusedWithTheirNode) {
  const Dataset dataset = TwoClasses({0, 1, 1});
  try {
    ScoreLogits(MakeContext(1), dataset, Margins({-1, NAN, 1}), {}, Role::kNone);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("logits of node 1 are not finite"), std::string::npos)
        << error.what();
  }
}

TEST(Score, AThresholdMovesTheBorderOfTwoClasses) {
  const Dataset dataset = TwoClasses({0, 1, 1, 0});
  const Matrix logits = Margins({-3, -1, 2, 0});
  EXPECT_DOUBLE_EQ(ScoreClasses(dataset, logits, {}, Role::kNone).accuracy, 0.75);
  const std::vector<double> half = {0.5}, low = {0.2}, never = {1};
  EXPECT_EQ(ScoreClasses(dataset, logits, {}, Role::kNone, half).confusion,
            ScoreClasses(dataset, logits, {}, Role::kNone).confusion);
  EXPECT_EQ(ScoreClasses(dataset, logits, {}, Role::kNone, low).classes[1].recall, 1);
  EXPECT_EQ(ScoreClasses(dataset, logits, {}, Role::kNone, never).classes[1].predicted, 0u);
}

TEST(Thresholds, OfTwoClassesBalanceBothWithoutLosingToTheMajority) {
  const Dataset dataset = TwoClasses({0, 0, 0, 0, 0, 0, 0, 1, 0, 1});
  const Matrix logits = Margins({-9, -8, -7, -6, -5, -4, -3, -2.5, -2.25, -2});
  const std::vector<uint32_t> nodes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Context context = MakeContext(1);
  const std::vector<double> chosen = ChooseThresholds(context, dataset.labels, nodes, logits);
  ASSERT_EQ(chosen.size(), 1u);
  const Score score = ScoreClasses(dataset, logits, {}, Role::kNone, chosen);
  EXPECT_DOUBLE_EQ(score.accuracy, 0.9);
  EXPECT_DOUBLE_EQ(score.classes[1].recall, 1);
  EXPECT_NEAR(chosen[0], 1 / (1 + std::exp(2.75)), 1e-12);
}

TEST(Thresholds, OfLabelsLieBetweenTheirOwnAndTheCommonOne) {
  constexpr uint32_t kNodes = 40;
  Labels labels;
  labels.multilabel = true;
  labels.classes = 3;
  labels.matrix = Array<uint8_t>::Zeros(kNodes * 3);
  Matrix logits = Matrix::Allocate(kNodes, 3);
  std::vector<uint32_t> nodes;
  for (uint32_t i = 0; i < kNodes; ++i) {
    nodes.push_back(i);
    const bool first = i % 2 == 0, second = i % 3 == 0, rare = i == 7;
    labels.matrix.mutable_data()[i * 3] = first;
    labels.matrix.mutable_data()[i * 3 + 1] = second;
    labels.matrix.mutable_data()[i * 3 + 2] = rare;
    logits.mutable_row(i)[0] = first ? 3 : 2;     // best cut 2.5
    logits.mutable_row(i)[1] = second ? -4 : -5;  // best cut −4.5
    logits.mutable_row(i)[2] = rare ? 8.0f : -9.0f;
  }
  const std::vector<double> chosen = ChooseThresholds(MakeContext(2), labels, nodes, logits);
  // One threshold for all does best at −4.5: F1 70/90, against 42/56 at 2.5. Labels have 20, 14 and 1
  // members.
  const auto between = [](double own, double members) {
    return 1 / (1 + std::exp(-(members * own + 25 * -4.5) / (members + 25)));
  };
  EXPECT_NEAR(chosen[0], between(2.5, 20), 1e-12);
  EXPECT_NEAR(chosen[1], between(-4.5, 14), 1e-12);
  EXPECT_NEAR(chosen[2], between(-0.5, 1), 1e-12);
}

TEST(Thresholds, ALabelWithoutMembersTakesTheCommonOne) {
  Labels labels;
  labels.multilabel = true;
  labels.classes = 2;
  labels.matrix = Array<uint8_t>::Zeros(8);
  for (const size_t i : {0, 2}) labels.matrix.mutable_data()[i] = 1;
  Matrix logits = Matrix::Allocate(4, 2);
  for (size_t i = 0; i < 4; ++i) {
    logits.mutable_row(i)[0] = i < 2 ? 3 : -1;
    logits.mutable_row(i)[1] = -2;
  }
  const std::vector<double> chosen =
      ChooseThresholds(MakeContext(1), labels, std::vector<uint32_t>{0, 1, 2, 3}, logits);
  EXPECT_NEAR(chosen[0], 1 / (1 + std::exp(-1.0)), 1e-12);
  EXPECT_NEAR(chosen[1], chosen[0], 1e-12);
}

}  // namespace
}  // namespace l2gcn
