// The tables and figures of a reproduction as parts of a report.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/memory_meter.h"
#include "report/html/sections.h"

namespace l2gcn {
namespace {

struct ReproductionTarget {
  const char* name;
  const char* title;
};
constexpr ReproductionTarget kTargets[] = {
    {"table-complexity", "Growth of time and memory"},
    {"table-sota", "Methods on every data set"},
    {"table-transfer", "Controllers used on other data sets"},
    {"table-epochs", "Epochs for each layer"},
    {"table-depth", "Depth"},
    {"table-ngcn", "N-GCN"},
    {"fig-summary", "Time, memory and F1 on reddit"},
    {"fig-loss", "Loss curves"},
    {"theorems", "Graphs told apart by depth"},
    {"fig-capacity", "Graphs told apart by depth"},  // of earlier versions
};

enum class Shown { kText, kCount, kPercent, kSeconds, kTimes, kMemory, kYes };

// Columns in the order in which they stand, the paper's figure beside ours. A column that no row fills is left out.
struct ReproductionColumn {
  const char* key;
  const char* head;
  Shown shown;
};
constexpr ReproductionColumn kColumns[] = {
    {"set", "data set", Shown::kText},
    {"data", "data", Shown::kText},
    {"learned_on", "controller learned on", Shown::kText},
    {"learned_on_data", "data of that", Shown::kText},
    {"method", "method", Shown::kText},
    {"grows", "what grows", Shown::kText},
    {"at", "to", Shown::kCount},
    {"layers", "layers", Shown::kCount},
    {"epochs", "epochs", Shown::kCount},
    {"runs", "seeds", Shown::kCount},
    {"f1", "F1 %, ours", Shown::kPercent},
    {"paper_f1", "F1 %, paper", Shown::kPercent},
    {"seconds", "training s, ours", Shown::kSeconds},
    {"paper_seconds", "training s, paper", Shown::kSeconds},
    {"stopped_by_clock", "stopped by the clock", Shown::kYes},
    {"search_seconds", "search s, ours", Shown::kSeconds},
    {"paper_search_seconds", "search s, paper", Shown::kSeconds},
    {"seconds_per_epoch", "s per epoch", Shown::kSeconds},
    {"relative", "× the first, ours", Shown::kTimes},
    {"predicted", "× the first, paper", Shown::kTimes},
    {"training_bytes", "memory MiB, ours", Shown::kMemory},
    {"paper_training_bytes", "memory MiB, paper", Shown::kMemory},
    {"sampler_bytes", "kept between steps, MiB", Shown::kMemory},
};

double NumberIn(const ReportJson& row, const std::string& key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() ? found->get<double>()
                                                  : std::numeric_limits<double>::quiet_NaN();
}

std::string TextIn(const ReportJson& row, const std::string& key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : "";
}

bool HasValue(const ReportJson& row, const ReproductionColumn& column) {
  if (column.shown == Shown::kText) return !TextIn(row, column.key).empty();
  if (column.shown == Shown::kYes) return row.value(column.key, ReportJson()) == true;
  const double value = NumberIn(row, column.key);
  return std::isfinite(value) && (column.shown != Shown::kMemory || value > 0);
}

Cell CellOf(const ReportJson& row, const ReproductionColumn& column) {
  const std::string paper = std::string_view(column.head).ends_with("paper") ? "paper" : "";
  if (column.shown == Shown::kText) return {TextIn(row, column.key), "l"};
  if (column.shown == Shown::kYes) return {HasValue(row, column) ? "yes" : ""};
  const double value = NumberIn(row, column.key);
  if (!std::isfinite(value)) return {"–", paper};
  std::string text;
  switch (column.shown) {
    case Shown::kCount:
      text = value == std::floor(value) && value >= 0 && value < 1e15
                 ? CountText(static_cast<uint64_t>(value))
                 : fmt::format("{:.1f}", value);
      break;
    case Shown::kPercent: {
      const double deviation = NumberIn(row, std::string(column.key) + "_sd");
      text = std::isfinite(deviation) && NumberIn(row, "runs") > 1
                 ? fmt::format("{:.2f} ± {:.2f}", value, deviation)
                 : fmt::format("{:.1f}", value);
      break;
    }
    case Shown::kMemory:
      text = fmt::format("{:.{}f}", value / kMiB, value >= 100 * kMiB ? 0 : 1);
      break;
    case Shown::kTimes:
      text = fmt::format("{:.2f}", value);
      break;
    default:
      text = fmt::format("{:.4g}", value);
  }
  return {text, paper, fmt::format("{:.6f}", value)};
}

void AddRows(const ReportJson& rows, Page& page) {
  std::vector<const ReproductionColumn*> columns;
  std::vector<std::string> head;
  for (const ReproductionColumn& column : kColumns) {
    if (std::none_of(rows.begin(), rows.end(),
                     [&](const ReportJson& row) { return HasValue(row, column); })) {
      continue;
    }
    columns.push_back(&column);
    head.push_back(column.head);
  }
  std::vector<std::vector<Cell>> cells;
  for (const ReportJson& row : rows) {
    std::vector<Cell> line;
    for (const ReproductionColumn* column : columns) line.push_back(CellOf(row, *column));
    cells.push_back(std::move(line));
  }
  page.Table(
      head, cells,
      {"The paper's figures are those it prints, on its machine. Data: the real set, or a generated graph "
       "of its shape",
       true, false});
}

// Loss by epoch, one chart a data set, layers one after another.
void AddLossCharts(const ReportJson& rows, Page& page) {
  std::map<std::string, Chart> charts;
  for (const ReportJson& row : rows) {
    const ReportJson layers = row.value("loss", ReportJson::array());
    if (!layers.is_array() || layers.empty()) continue;
    Chart& chart = charts[TextIn(row, "set")];
    chart.title = fmt::format("Loss by epoch, {} ({})", TextIn(row, "set"), TextIn(row, "data"));
    chart.x_label = "epoch, layers one after another";
    chart.y_label = "loss of the epoch's last batch";
    chart.width = kPairWidth, chart.height = kPairHeight;
    chart.whole_x = true;
    ChartSeries series;
    series.colour = static_cast<int>(chart.series.size() % kSeriesColours);
    series.name = fmt::format("{}, {:.4g} epochs", TextIn(row, "method"), NumberIn(row, "epochs"));
    for (const ReportJson& layer : layers) {
      for (const ReportJson& loss : layer) {
        series.x.push_back(static_cast<double>(series.x.size() + 1));
        series.y.push_back(loss.is_number() ? loss.get<double>() : std::numeric_limits<double>::quiet_NaN());
      }
    }
    chart.series.push_back(std::move(series));
  }
  if (charts.empty()) return;
  page.BeginPair();
  for (const auto& [set, chart] : charts) page.Figure(chart, "The first seed of each row.");
  page.EndPair();
}

// Memory against time, F1 beside each point; the paper's points are rings.
void AddSummaryChart(const ReportJson& rows, Page& page) {
  Chart chart;
  chart.title = "Time, memory and F1 on reddit";
  chart.x_label = "training seconds";
  chart.y_label = "memory, MiB";
  chart.log_x = chart.log_y = true;
  ChartSeries ours{"ours", {}, {}, SeriesStyle::kPoints, 0, {}, {}, true};
  ChartSeries paper{"paper", {}, {}, SeriesStyle::kHollowPoints, 1, {}, {}, true};
  const auto add = [](const ReportJson& row, const std::string& prefix, ChartSeries& series) {
    if (!std::isfinite(NumberIn(row, prefix + "seconds"))) return;
    series.x.push_back(NumberIn(row, prefix + "seconds"));
    series.y.push_back(std::max(1.0, NumberIn(row, prefix + "training_bytes") / kMiB));
    series.labels.push_back(fmt::format("{} {:.1f} %", TextIn(row, "method"), NumberIn(row, prefix + "f1")));
  };
  for (const ReportJson& row : rows) {
    if (TextIn(row, "set") != "reddit") continue;
    add(row, "", ours);
    add(row, "paper_", paper);
  }
  if (ours.x.empty()) return;
  chart.series = {std::move(ours), std::move(paper)};
  page.Figure(chart, "Down and to the left is better. The paper's memory is that of a GPU.");
}

// Seconds of an epoch against what grows, one line a method.
void AddGrowthCharts(const ReportJson& rows, Page& page) {
  page.BeginPair();
  for (const std::string what : {"layers", "nodes"}) {
    Chart chart;
    chart.title = "Seconds of an epoch by " + what;
    chart.x_label = what;
    chart.y_label = "seconds";
    chart.log_x = what == "nodes", chart.log_y = true, chart.whole_x = true;
    chart.width = kPairWidth, chart.height = kPairHeight;
    for (const ReportJson& row : rows) {
      if (TextIn(row, "grows") != what) continue;
      const std::string method = TextIn(row, "method");
      if (chart.series.empty() || chart.series.back().name != method) {
        const auto colour = static_cast<int>(chart.series.size() % kSeriesColours);
        chart.series.push_back({method, {}, {}, SeriesStyle::kLineAndPoints, colour, {}, {}, true});
      }
      chart.series.back().x.push_back(NumberIn(row, "at"));
      chart.series.back().y.push_back(NumberIn(row, "seconds_per_epoch"));
    }
    if (!chart.series.empty()) page.Figure(chart, "");
  }
  page.EndPair();
}

// Counts by depth of one seed or several: "11, 31, 33–34".
std::string CountsByDepth(const ReportJson& seeds) {
  std::string text;
  for (size_t depth = 0; depth < seeds.at(0).size(); ++depth) {
    uint64_t least = std::numeric_limits<uint64_t>::max(), most = 0;
    for (const ReportJson& seed : seeds) {
      const auto count = seed.at(depth).get<uint64_t>();
      least = std::min(least, count), most = std::max(most, count);
    }
    text += fmt::format("{}{}", depth == 0 ? "" : ", ", least);
    if (most > least) text += fmt::format("–{}", most);
  }
  return text;
}

void AddCapacity(const ReportJson& capacity, Page& page) {
  for (const ReportJson& set : capacity.value("sets", ReportJson::array())) {
    if (!set.value("enumerated", false)) continue;
    std::vector<std::vector<Cell>> rows;
    for (const auto& [features, classes] : set.at("colour_classes").items()) {
      rows.push_back({{"colour refinement"},
                      {"", "l"},
                      {features, "l"},
                      {""},
                      {CountsByDepth(ReportJson::array({classes})), "l"}});
    }
    for (const ReportJson& networks : set.at("networks")) {
      rows.push_back({{networks.value("training", "")},
                      {networks.value("operator", ""), "l"},
                      {networks.value("features", ""), "l"},
                      {fmt::format("{}", networks.value("width", 0))},
                      {CountsByDepth(networks.at("classes")), "l"}});
    }
    page.Table(
        {"training", "operator", "features", "width", "classes by depth 1, 2, … (least–most over seeds)"},
        rows,
        {fmt::format("{}: {} graphs", set.value("name", ""), CountText(set.value("graphs", uint64_t{0}))),
         false, false});
  }
}

}  // namespace

void AddReproduction(const ReportJson& reproduction, Page& page) {
  if (reproduction.value("quick", false))
    page.Paragraph("A quick reproduction: smaller graphs, fewer epochs and seeds than the paper's.");
  for (const ReproductionTarget& target : kTargets) {
    const auto found = reproduction.find(target.name);
    if (found == reproduction.end()) continue;
    const bool rows = found->is_array() && !found->empty() && found->front().is_object();
    if (!rows && !found->is_object()) continue;
    const std::string name = target.name;
    page.Section(fmt::format("{} ({})", target.title, name));
    if (name == "theorems" || name == "fig-capacity") {
      AddCapacity(*found, page);
      continue;
    }
    if (name == "fig-loss") AddLossCharts(*found, page);
    if (name == "fig-summary" || (name == "table-sota" && !reproduction.contains("fig-summary")))
      AddSummaryChart(*found, page);
    if (name == "table-complexity") AddGrowthCharts(*found, page);
    AddRows(*found, page);
  }
}

}  // namespace l2gcn
