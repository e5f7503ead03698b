#include "model/regression_score.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/error_format.h"

namespace l2gcn {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double MeanOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// 1 … n; equal values have the mean of their ranks.
std::vector<double> RanksOf(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end + 1) / 2;
    begin = end;
  }
  return ranks;
}

// Pearson's correlation; NaN where either is constant.
double Correlation(std::span<const double> a, std::span<const double> b) {
  const double mean_a = MeanOf(a), mean_b = MeanOf(b);
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa == 0 || bb == 0 ? kUnknown : ab / std::sqrt(aa * bb);
}

double R2Of(std::span<const double> truth, double squares) {
  if (truth.size() < 2) return kUnknown;
  const double mean = MeanOf(truth);
  double total = 0;
  for (const double value : truth) total += (value - mean) * (value - mean);
  if (total == 0) return squares == 0 ? 1 : 0;
  return 1 - squares / total;
}

constexpr double Score::Numbers::*kFigures[] = {&Score::Numbers::r2, &Score::Numbers::mae,
                                                &Score::Numbers::rmse, &Score::Numbers::spearman};

// The mean of every figure over the targets that have it.
Score::Numbers MeanFigures(std::span<const Score::Target> targets, Score::Numbers Score::Target::*of) {
  Score::Numbers mean;
  for (const auto figure : kFigures) {
    double sum = 0;
    uint64_t known = 0;
    for (const Score::Target& target : targets) {
      const double value = target.*of.*figure;
      if (std::isnan(value)) continue;
      sum += value;
      ++known;
    }
    mean.*figure = known == 0 ? kUnknown : sum / static_cast<double>(known);
  }
  return mean;
}

// A target's true and predicted values, where it is not missing.
struct TargetPairs {
  std::vector<double> truth, predicted;
};

// `row_of` gives the row of `predicted` of the i-th node.
template <class RowOf>
TargetPairs PairsOf(const Labels& labels, std::span<const uint32_t> nodes, const Matrix& predicted,
                    uint32_t c, const RowOf& row_of) {
  TargetPairs pairs;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const double truth = labels.targets.row(nodes[i])[c];
    if (std::isnan(truth)) continue;
    pairs.truth.push_back(truth);
    pairs.predicted.push_back(predicted.row(row_of(i))[c]);
  }
  return pairs;
}

double TrainMean(const Labels& labels, const Split& split, uint32_t c, std::span<const double> otherwise) {
  double sum = 0;
  uint64_t count = 0;
  for (uint32_t node = 0; node < split.roles.size(); ++node) {
    const double value = labels.targets.row(node)[c];
    if (split.roles[node] != static_cast<uint8_t>(Role::kTrain) || std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : MeanOf(otherwise);
}

}  // namespace

Score::Numbers FiguresOf(std::span<const double> truth, std::span<const double> predicted) {
  L2GCN_ASSERT(truth.size() == predicted.size());
  const bool finite =
      std::all_of(predicted.begin(), predicted.end(), [](double v) { return std::isfinite(v); });
  if (truth.empty() || !finite) return {kUnknown, kUnknown, kUnknown, kUnknown};
  double sizes = 0, squares = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    const double error = predicted[i] - truth[i];
    sizes += std::abs(error);
    squares += error * error;
  }
  const double n = static_cast<double>(truth.size());
  return {R2Of(truth, squares), sizes / n, std::sqrt(squares / n),
          Correlation(RanksOf(truth), RanksOf(predicted))};
}

Score ScoreRegression(const Dataset& dataset, const Matrix& predicted, const Split& split,
                      std::span<const uint32_t> nodes) {
  const Labels& labels = dataset.labels;
  Score score;
  score.nodes = nodes.size();
  score.baseline = "train mean";
  for (double Score::*figure :
       {&Score::micro_f1, &Score::macro_f1, &Score::accuracy, &Score::balanced_accuracy, &Score::roc_auc,
        &Score::average_precision, &Score::log_loss, &Score::calibration_error, &Score::baseline_f1,
        &Score::baseline_macro_f1})
    score.*figure = kUnknown;
  for (uint32_t c = 0; c < labels.classes; ++c) {
    const TargetPairs pairs = PairsOf(labels, nodes, predicted, c, [&](size_t i) { return nodes[i]; });
    const std::vector<double> mean(pairs.truth.size(), TrainMean(labels, split, c, pairs.truth));
    score.targets.push_back({dataset.ClassName(c), pairs.truth.size(),
                             FiguresOf(pairs.truth, pairs.predicted), FiguresOf(pairs.truth, mean)});
  }
  score.regression = MeanFigures(score.targets, &Score::Target::model);
  score.regression_baseline = MeanFigures(score.targets, &Score::Target::baseline);
  return score;
}

double MeanR2(const Labels& labels, std::span<const uint32_t> nodes, const Matrix& predicted) {
  std::vector<Score::Target> targets;
  for (uint32_t c = 0; c < labels.classes; ++c) {
    const TargetPairs pairs = PairsOf(labels, nodes, predicted, c, [](size_t i) { return i; });
    targets.push_back({"", pairs.truth.size(), FiguresOf(pairs.truth, pairs.predicted), {}});
  }
  return MeanFigures(targets, &Score::Target::model).r2;
}

}  // namespace l2gcn
