// Parts of a report about several methods or runs side by side.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "core/memory_meter.h"
#include "report/html/sections.h"

namespace l2gcn {
namespace {

// A value of a table as people read it.
std::string ValueText(const std::string& name, const ReportJson& value) {
  if (value.is_null()) return "–";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_number()) return value.dump();
  if (name.ends_with("_bytes")) return BytesText(value.get<double>());
  if (value.is_number_integer()) return fmt::format("{}", value.get<int64_t>());
  return fmt::format("{:.4g}", value.get<double>());
}

double At(const ReportJson& json, const char* group, const char* key) {
  const ReportJson value = json.value(group, ReportJson::object()).value(key, ReportJson());
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

void AddComparison(const ReportJson& comparison, Page& page) {
  const ReportJson& dataset = comparison.at("dataset");
  page.Section(fmt::format("Methods on {}", dataset.value("name", "")));
  page.Paragraph(fmt::format("{} nodes, {} edges; {}, {} threads.",
                             CountText(dataset.value("nodes", uint64_t{0})),
                             CountText(dataset.value("edges", uint64_t{0})), comparison.value("device", ""),
                             comparison.value("threads", 0)));
  std::vector<std::vector<Cell>> rows;
  Chart trade, losses;
  trade.title = "Test F1 against training time";
  trade.x_label = "training seconds";
  trade.y_label = "test F1, %";
  trade.log_x = true;
  trade.width = losses.width = kPairWidth, trade.height = losses.height = kPairHeight;
  losses.title = "Loss by epoch, first seed";
  losses.x_label = "epoch, layers one after another";
  losses.y_label = "loss";
  losses.whole_x = true;
  for (const ReportJson& method : comparison.at("methods")) {
    const std::string name = method.at("method").get<std::string>();
    const double f1 = At(method, "f1", "test"), sd = At(method, "f1", "test_sd"),
                 seconds = At(method, "seconds", "train");
    const auto colour = static_cast<int>(rows.size() % kSeriesColours);
    rows.push_back({{name},
                    {fmt::format("{:.2f} ± {:.2f}", 100 * f1, 100 * sd), "", fmt::format("{:.6f}", f1)},
                    {fmt::format("{:.2f}", 100 * At(method, "f1", "val"))},
                    {fmt::format("{:.3f} ± {:.3f}", seconds, At(method, "seconds", "train_sd")), "",
                     fmt::format("{:.6f}", seconds)},
                    {fmt::format("{:.3f}", At(method, "seconds", "setup"))},
                    {ValueText("", method.value("seconds_to_f1", ReportJson()))},
                    {fmt::format("{:.1f}", At(method, "memory", "training_bytes") / kMiB)},
                    {ValueText("", method.value("epochs", ReportJson()))},
                    {method.value("stopped_by_clock", false) ? "yes" : ""}});
    trade.series.push_back(
        {name, {seconds}, {100 * f1}, SeriesStyle::kPoints, colour, {100 * sd}, {name}, false});
    ChartSeries curve;
    curve.name = name;
    curve.colour = colour;
    for (const ReportJson& layer : method.value("loss", ReportJson::array())) {
      for (const ReportJson& loss : layer) {
        curve.x.push_back(static_cast<double>(curve.x.size() + 1));
        curve.y.push_back(loss.is_number() ? loss.get<double>() : std::numeric_limits<double>::quiet_NaN());
      }
    }
    losses.series.push_back(std::move(curve));
  }
  page.Table({"method", "test F1 %", "validation F1 %", "training s", "setup s", "s to equal F1",
              "MiB over the data", "epochs", "stopped by the clock"},
             rows, {"Means and standard deviations over seeds", true, false});
  page.BeginPair();
  page.Figure(trade, "Up and to the left is better. Bars: one standard deviation over seeds.");
  page.Figure(losses, "");
  page.EndPair();
}

namespace {

// The largest test F1 among the runs on the same data set and split, where there are several.
bool IsBestOfItsData(const std::vector<RunRecord>& runs, const ReportJson& result) {
  const auto key = [](const ReportJson& one) {
    return one.at("dataset").value("name", "") + "\n" +
           one.value("split", ReportJson::object()).value("name", "");
  };
  const double f1 = At(result, "f1", "test");
  size_t baselines = 0;
  for (const RunRecord& run : runs) {
    if (key(run.result) != key(result)) continue;
    ++baselines;
    if (At(run.result, "f1", "test") > f1) return false;
  }
  return baselines > 1 && std::isfinite(f1);
}

}  // namespace

void AddRuns(const std::vector<RunRecord>& runs, Page& page) {
  page.Section("Runs side by side");
  Chart trade;
  trade.title = "Test F1 against training time";
  trade.x_label = "training seconds";
  trade.y_label = "test F1, %";
  trade.log_x = true;
  std::vector<std::vector<Cell>> rows;
  bool one_data_set = true;
  for (const RunRecord& run : runs) {
    const ReportJson& result = run.result;
    const std::string data = result.at("dataset").value("name", "");
    one_data_set = one_data_set && data == runs.front().result.at("dataset").value("name", "");
    const double f1 = At(result, "f1", "test"), sd = At(result, "f1_sd", "test"),
                 seconds = TrainingSeconds(result), bytes = At(result, "memory", "peak_rss_bytes");
    Cell link;
    link.html = fmt::format("<a href=\"#run-{}\">{}</a>", rows.size() + 1, EscapedText(run.directory));
    rows.push_back({link,
                    {data, "l"},
                    {result.value("method", ""), "l"},
                    {fmt::format("{}", result.at("runs").size())},
                    {ScoreText(result, "test"), IsBestOfItsData(runs, result) ? "best" : "",
                     std::isfinite(f1) ? fmt::format("{:.6f}", f1) : ""},
                    {ScoreText(result, "val")},
                    {PercentText(At(result, "baseline", "test"))},
                    {EpochsText(result.at("epochs"))},
                    {SecondsText(seconds), "", fmt::format("{:.6f}", seconds)},
                    {BytesText(bytes), "", std::isfinite(bytes) ? fmt::format("{:.0f}", bytes) : ""},
                    {run.finished, "w"}});
    trade.series.push_back({run.directory,
                            {seconds},
                            {100 * f1},
                            SeriesStyle::kPoints,
                            static_cast<int>((rows.size() - 1) % kSeriesColours),
                            {runs.size() > 1 && sd > 0 ? 100 * sd : 0},
                            {std::filesystem::path(run.directory).filename().string()},
                            false});
  }
  page.Table(
      {"run", "data set", "method", "seeds", "test F1", "validation F1", "baseline", "epochs", "training",
       "peak memory", "finished"},
      rows,
      {"Means, with the standard deviation where there are several seeds; bold: the best test F1 on the "
       "same data set and split. Details of each run are below",
       true, false});
  if (one_data_set)
    page.Figure(trade, "Up and to the left is better. Bars: one standard deviation over seeds.");
}

}  // namespace l2gcn
