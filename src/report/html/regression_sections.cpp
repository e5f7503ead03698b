// Parts of a report about a regression: scores by target, residuals against predictions, the nodes with the largest errors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/rng.h"
#include "report/html/sections.h"

namespace l2gcn {
namespace {

constexpr size_t kMostTargetsShown = 12, kMostResiduals = 2000, kErrorsListed = 12;

std::string FigureText(double value) { return std::isfinite(value) ? fmt::format("{:.4g}", value) : "–"; }

std::vector<Cell> FiguresRow(const std::string& part, const std::string& target, uint64_t nodes,
                             const Score::Numbers& model, const Score::Numbers& baseline) {
  return {{part},
          {target, "l w"},
          {CountText(nodes)},
          {FigureText(model.r2)},
          {FigureText(model.mae)},
          {FigureText(model.rmse)},
          {FigureText(model.spearman)},
          {FigureText(baseline.mae)},
          {FigureText(baseline.rmse)}};
}

// One target's nodes that have it.
struct Residuals {
  std::vector<uint32_t> nodes;
  std::vector<double> predicted, residual;  // truth − prediction
};

Residuals TargetResiduals(const Dataset& dataset, const Matrix& predicted, std::span<const uint32_t> nodes,
                          uint32_t target) {
  Residuals all;
  for (const uint32_t node : nodes) {
    const double truth = dataset.labels.targets.row(node)[target];
    if (std::isnan(truth)) continue;
    all.nodes.push_back(node);
    all.predicted.push_back(predicted.row(node)[target]);
    all.residual.push_back(truth - predicted.row(node)[target]);
  }
  return all;
}

// Some of many, drawn at random.
Chart ResidualChart(const Residuals& all, const std::string& target) {
  Chart chart;
  chart.title = "Residuals of " + target;
  chart.x_label = "prediction";
  chart.y_label = "truth − prediction";
  chart.width = kPairWidth, chart.height = kPairHeight;
  ChartSeries dots{"nodes", {}, {}, SeriesStyle::kPoints, 0, {}, {}, false};
  const auto count = static_cast<uint32_t>(all.nodes.size());
  const Permutation order(count, RandomStream(0, RandomUse::kSampler));
  for (uint32_t i = 0; i < std::min<size_t>(count, kMostResiduals); ++i) {
    const uint32_t at = count <= kMostResiduals ? i : order(i);
    dots.x.push_back(all.predicted[at]);
    dots.y.push_back(all.residual[at]);
  }
  const auto [low, high] = std::minmax_element(dots.x.begin(), dots.x.end());
  ChartSeries zero{"no error", {*low, *high}, {0, 0}, SeriesStyle::kDashedLine, 5, {}, {}, false};
  chart.series = {std::move(zero), std::move(dots)};
  return chart;
}

void AddLargestErrors(const Dataset& dataset, const Residuals& all, const std::string& target, Page& page) {
  std::vector<size_t> order(all.nodes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const size_t count = std::min(kErrorsListed, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
                    [&](size_t a, size_t b) {
                      const double x = std::abs(all.residual[a]), y = std::abs(all.residual[b]);
                      return x != y ? x > y : a < b;
                    });
  std::vector<std::vector<Cell>> rows;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = order[i];
    rows.push_back({{dataset.NodeName(all.nodes[at]), "w"},
                    {FigureText(all.predicted[at] + all.residual[at])},
                    {FigureText(all.predicted[at])},
                    {fmt::format("{}", dataset.graph.degree(all.nodes[at]))}});
  }
  page.Table({"node", "truth", "prediction", "neighbours"}, rows,
             {fmt::format("Largest errors of {}", target), true, false});
}

}  // namespace

void AddRegressionScores(const std::vector<std::pair<std::string, Score>>& scores, Page& page) {
  page.Section("Scores");
  std::vector<std::vector<Cell>> rows;
  for (const auto& [part, score] : scores) {
    if (score.nodes == 0) continue;
    if (score.targets.size() > 1)
      rows.push_back(
          FiguresRow(part, "mean of targets", score.nodes, score.regression, score.regression_baseline));
    for (const Score::Target& target : score.targets)
      rows.push_back(FiguresRow(part, target.name, target.count, target.model, target.baseline));
  }
  page.Table({"nodes", "target", "number", "R²", "MAE", "RMSE", "Spearman", "baseline MAE", "baseline RMSE"},
             rows, {"Baseline: the mean of the train nodes, whose R² is 0", false, false});
}

void AddResiduals(const Dataset& dataset, const Matrix& predicted, std::span<const uint32_t> nodes,
                  const std::string& part, Page& page) {
  page.Section("Residuals");
  for (uint32_t c = 0; c < std::min<size_t>(dataset.labels.classes, kMostTargetsShown); ++c) {
    const Residuals all = TargetResiduals(dataset, predicted, nodes, c);
    if (all.nodes.empty()) continue;
    page.BeginPair();
    page.Figure(ResidualChart(all, dataset.ClassName(c)),
                fmt::format("Each dot is one of the {} nodes.", part));
    AddLargestErrors(dataset, all, dataset.ClassName(c), page);
    page.EndPair();
  }
}

}  // namespace l2gcn
