// A comparison as figures fit to print: F1 and memory against training time, and growth curves where
// something was varied.
#include <fmt/format.h>

#include <algorithm>

#include "core/memory_meter.h"
#include "report/comparison.h"
#include "report/figure/chart.h"

namespace l2gcn {
namespace {

using NamedFiles = std::vector<std::pair<std::string, std::string>>;

void AddFigure(const std::string& name, const Chart& chart, NamedFiles& files) {
  files.emplace_back(name + ".svg", ChartToSvg(chart));
}

Chart TradeChart(const Comparison& comparison, bool memory) {
  Chart chart;
  chart.title = fmt::format("{}: {} and training time", comparison.dataset_name, memory ? "memory" : "F1");
  chart.x_label = "training seconds";
  chart.y_label = memory ? "memory over the data set, MiB" : "test F1, %";
  chart.log_x = true;
  chart.log_y = memory;
  for (size_t i = 0; i < comparison.rows.size(); ++i) {
    const CompareRow& row = comparison.rows[i];
    ChartSeries series;
    series.name = row.method;
    series.style = SeriesStyle::kPoints;
    series.colour = static_cast<int>(i);
    series.in_legend = false;
    series.x = {row.seconds};
    series.y = {memory ? std::max(1.0, static_cast<double>(row.training_bytes)) / kMiB : 100 * row.f1};
    if (!memory) series.error = {100 * row.f1_sd};
    series.labels = {row.method + (row.stopped_by_clock ? " (stopped)" : "")};
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart GrowthChart(const std::vector<Comparison>& all, const std::string& varied,
                  const std::vector<uint64_t>& at) {
  Chart chart;
  chart.title = fmt::format("{}: training time by {}", all.front().dataset_name, varied);
  chart.x_label = varied;
  chart.y_label = "training seconds";
  chart.log_x = varied == "nodes";
  chart.log_y = true;
  chart.whole_x = true;
  for (size_t m = 0; m < all.front().rows.size(); ++m) {
    ChartSeries series;
    series.name = all.front().rows[m].method;
    series.style = SeriesStyle::kLineAndPoints;
    series.colour = static_cast<int>(m);
    for (size_t i = 0; i < all.size(); ++i) {
      series.x.push_back(static_cast<double>(at[i]));
      series.y.push_back(all[i].rows[m].seconds);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace

NamedFiles ComparisonFigures(const std::vector<Comparison>& all, const std::string& varied,
                             const std::vector<uint64_t>& at) {
  NamedFiles files;
  if (all.size() > 1) {
    AddFigure("growth", GrowthChart(all, varied, at), files);
  } else if (!all.empty()) {
    AddFigure("f1", TradeChart(all.front(), false), files);
    AddFigure("memory", TradeChart(all.front(), true), files);
  }
  return files;
}

}  // namespace l2gcn
