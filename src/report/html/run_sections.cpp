// Parts of a report that need the run's own record alone.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/json_text.h"
#include "l2gcn/ceilings.h"
#include "l2gcn/version.h"
#include "report/html/sections.h"

namespace l2gcn {
namespace {

double NumberAt(const ReportJson& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>()
                                                   : std::numeric_limits<double>::quiet_NaN();
}

double SumOf(const ReportJson& seconds, std::initializer_list<const char*> phases) {
  double sum = 0;
  for (const char* phase : phases) {
    const double value = NumberAt(seconds, phase);
    sum += std::isfinite(value) ? value : 0;
  }
  return sum;
}

std::string WithSpread(const ReportJson& result, const char* part) {
  const double f1 = NumberAt(result.at("f1"), part),
               sd = NumberAt(result.value("f1_sd", ReportJson::object()), part);
  if (!std::isfinite(f1)) return "–";
  if (result.at("runs").size() < 2 || !std::isfinite(sd)) return PercentText(f1);
  return fmt::format("{:.2f} ± {:.2f} %", 100 * f1, 100 * sd);
}

std::string EpochsOfRun(const ReportJson& epochs) {
  std::vector<std::string> parts;
  for (const ReportJson& count : epochs) parts.push_back(fmt::format("{:.4g}", count.get<double>()));
  return fmt::format("{}", fmt::join(parts, " + "));
}

// A bar whose length is a share of the whole, drawn without a style attribute, which the policy forbids.
Cell BarCell(double share) {
  Cell cell;
  cell.classes = "l";
  cell.html = fmt::format(
      "<svg class=\"bar\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
      "class=\"s1 fi\" "
      "width=\"{:.2f}\" height=\"8\"/></svg>",
      std::clamp(100 * share, 0.0, 100.0));
  cell.sort = fmt::format("{:.6f}", share);
  return cell;
}

std::string RateText(double amount, double seconds, double ceiling) {
  if (!(amount > 0) || !(seconds > 0)) return "–";
  const double rate = amount / seconds / 1e9;
  return ceiling > 0 ? fmt::format("{:.1f} ({:.0f} % of the best)", rate, 100 * rate / ceiling)
                     : fmt::format("{:.1f}", rate);
}

// One line a layer, in the first runs; where each layer ended is a point.
Chart LossChart(const ReportJson& run) {
  Chart chart;
  chart.title = "Loss by epoch";
  chart.width = kPairWidth, chart.height = kPairHeight;
  chart.x_label = "epoch of the layer";
  chart.y_label = "loss";
  chart.whole_x = true;
  ChartSeries ends{"decided to stop", {}, {}, SeriesStyle::kPoints, 5, {}, {}, true};
  const ReportJson& layers = run.at("loss");
  for (size_t l = 0; l < layers.size(); ++l) {
    ChartSeries series;
    series.name = layers.size() == 1 ? "loss" : fmt::format("layer {}", l + 1);
    series.colour = static_cast<int>(l % 5);
    for (const ReportJson& loss : layers[l]) {
      series.x.push_back(static_cast<double>(series.x.size() + 1));
      series.y.push_back(loss.is_number() ? loss.get<double>() : std::numeric_limits<double>::quiet_NaN());
    }
    const ReportJson stops = run.value("layers", ReportJson::array());
    if (!series.x.empty() && l < stops.size() && stops[l].value("stopped_by", "budget") != "budget") {
      ends.x.push_back(series.x.back());
      ends.y.push_back(series.y.back());
    }
    chart.series.push_back(std::move(series));
  }
  if (!ends.x.empty()) chart.series.push_back(std::move(ends));
  return chart;
}

Chart ProbabilityChart(const ReportJson& run) {
  Chart chart;
  chart.title = "Stopping probability by epoch";
  chart.width = kPairWidth, chart.height = kPairHeight;
  chart.x_label = "epoch of the layer";
  chart.y_label = "probability of stopping";
  chart.whole_x = true;
  const ReportJson layers = run.value("layers", ReportJson::array());
  for (size_t l = 0; l < layers.size(); ++l) {
    ChartSeries series;
    series.name = fmt::format("layer {}", l + 1);
    series.colour = static_cast<int>(l % 5);
    series.style = SeriesStyle::kLineAndPoints;
    for (const ReportJson& decision : layers[l].value("probabilities", ReportJson::array())) {
      series.x.push_back(decision[0].get<double>());
      series.y.push_back(decision[1].get<double>());
    }
    if (!series.x.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart ValidationChart(const ReportJson& run) {
  Chart chart;
  chart.title = "Validation F1 while training";
  chart.width = kPairWidth, chart.height = kPairHeight;
  chart.x_label = "training seconds";
  chart.y_label = "F1, %";
  ChartSeries series;
  series.name = "validation F1";
  series.colour = 2;
  series.style = SeriesStyle::kLineAndPoints;
  for (const ReportJson& point : run.value("validation", ReportJson::array())) {
    const bool named = point.is_object();
    series.x.push_back((named ? point.at("seconds") : point[0]).get<double>());
    series.y.push_back(100 * (named ? point.at("f1") : point[3]).get<double>());
  }
  if (!series.x.empty()) chart.series.push_back(std::move(series));
  return chart;
}

}  // namespace

void AddScoreCards(const ReportJson& result, Page& page) {
  const ReportJson& seconds = result.at("seconds");
  std::vector<std::pair<std::string, std::string>> cards = {
      {"F1 on test nodes (micro)", WithSpread(result, "test")},
      {"on validation nodes", WithSpread(result, "val")},
      {"on train nodes", WithSpread(result, "train")}};
  const ReportJson baseline = result.value("baseline", ReportJson());
  if (baseline.is_object() && baseline.contains("test")) {
    cards.emplace_back("baseline on test: " + baseline.value("name", ""),
                       PercentText(NumberAt(baseline, "test")));
  }
  cards.emplace_back("epochs", EpochsOfRun(result.at("epochs")));
  cards.emplace_back("training", SecondsText(SumOf(seconds, {"aggregate", "train", "transform"})));
  cards.emplace_back("peak memory", BytesText(NumberAt(result.at("memory"), "peak_rss_bytes")));
  const double device = NumberAt(result.at("memory"), "peak_device_bytes");
  if (device > 0) cards.emplace_back("peak device memory", BytesText(device));
  page.Cards(cards);
}

void AddSeeds(const ReportJson& result, Page& page) {
  if (result.at("runs").size() < 2) return;
  page.Section("Seeds");
  Chart chart;
  chart.title = "Test F1 by seed";
  chart.x_label = "seed";
  chart.y_label = "F1, %";
  chart.whole_x = true;
  chart.height = 300;
  ChartSeries points{"test F1", {}, {}, SeriesStyle::kPoints, 0, {}, {}, true};
  std::vector<std::vector<Cell>> rows;
  for (const ReportJson& run : result.at("runs")) {
    const ReportJson& f1 = run.at("f1");
    points.x.push_back(run.at("seed").get<double>());
    points.y.push_back(100 * NumberAt(f1, "test"));
    rows.push_back({{fmt::format("{}", run.at("seed").get<uint64_t>())},
                    {PercentText(NumberAt(f1, "train"))},
                    {PercentText(NumberAt(f1, "val"))},
                    {PercentText(NumberAt(f1, "test"))},
                    {EpochsOfRun(run.at("epochs"))},
                    {SecondsText(SumOf(run.at("seconds"), {"aggregate", "train", "transform"}))}});
  }
  chart.series.push_back(std::move(points));
  page.Table(
      {"seed", "train F1", "validation F1", "test F1", "epochs", "training"}, rows,
      {fmt::format("{} seeds: {} on test nodes", rows.size(), WithSpread(result, "test")), true, false});
  page.Figure(chart, "");
}

void AddTraining(const ReportJson& result, Page& page) {
  const ReportJson& runs = result.at("runs");
  if (runs.empty()) return;
  page.Section("Training");
  const ReportJson& run = runs.front();
  if (runs.size() > 1) page.Paragraph(fmt::format("Of seed {}, the first.", run.at("seed").get<uint64_t>()));
  page.BeginPair();
  page.Figure(LossChart(run),
              "The loss of each epoch as the stop policy saw it. A dot: the policy ended the layer there.");
  const Chart probabilities = ProbabilityChart(run);
  if (!probabilities.series.empty()) {
    page.Figure(probabilities,
                "What the controller said at each decision; a layer ends where it decides to stop.");
  }
  const Chart validation = ValidationChart(run);
  if (!validation.series.empty()) page.Figure(validation, "Scored off the clock.");
  page.EndPair();
  std::vector<std::vector<Cell>> rows;
  const ReportJson layers = run.value("layers", ReportJson::array());
  for (size_t l = 0; l < layers.size(); ++l) {
    const ReportJson& layer = layers[l];
    const ReportJson decisions = layer.value("probabilities", ReportJson::array());
    rows.push_back({{fmt::format("{}", l + 1)},
                    {fmt::format("{}", layer.value("epochs", 0))},
                    {fmt::format("{}", layer.value("kept_epoch", 0))},
                    {layer.value("stopped_by", "")},
                    {decisions.empty() ? "–" : fmt::format("{:.3f}", decisions.back()[1].get<double>())}});
  }
  page.Table({"layer", "epochs", "weights of epoch", "ended by", "last stopping probability"}, rows,
             {"What ended each layer", false, false});
}

void AddCosts(const Context& context, const ReportJson& result, const ReportOptions& options, Page& page) {
  page.Section("Time and memory");
  const ReportJson& seconds = result.at("seconds");
  const double total = std::max(NumberAt(seconds, "total"), 1e-12);
  std::vector<std::vector<Cell>> rows;
  const ReportJson& memory = result.at("memory");
  const ReportJson resident = memory.value("resident_bytes", ReportJson::object());
  for (const char* phase : {"load", "setup", "aggregate", "train", "transform", "looks", "evaluate"}) {
    const double spent = NumberAt(seconds, phase), bytes = NumberAt(resident, phase);
    if (!std::isfinite(spent) || (spent == 0 && std::string_view(phase) == "looks")) continue;
    rows.push_back({{phase},
                    {SecondsText(spent)},
                    {PercentText(spent / total)},
                    BarCell(spent / total),
                    {bytes > 0 ? BytesText(bytes) : "–"},
                    bytes > 0 ? BarCell(bytes / NumberAt(memory, "peak_rss_bytes")) : Cell{""}});
  }
  page.Table(
      {"phase", "seconds", "of the whole", "", "memory", "of the peak"}, rows,
      {fmt::format(
           "Seconds and memory by phase, {} in all; training is aggregate + train + transform. Memory is "
           "the peak where the phase raised it, else what was resident as the phase began or ended",
           SecondsText(total)),
       false, false});
  const bool on_cpu = result.value("device", "cpu") == "cpu";
  const Ceilings best = options.ceilings && on_cpu ? MeasureCeilings(context) : Ceilings{};
  rows.clear();
  const ReportJson layers = result.at("runs").front().value("layers", ReportJson::array());
  for (size_t l = 0; l < layers.size(); ++l) {
    const ReportJson& layer = layers[l];
    rows.push_back(
        {{fmt::format("{}", l + 1)},
         {layer.value("sparse", false) ? "sparse" : "dense"},
         {SecondsText(NumberAt(layer, "seconds"))},
         {RateText(NumberAt(layer, "flops"), NumberAt(layer, "seconds"), best.gflops)},
         {NumberAt(layer, "gathered_bytes") > 0 ? BytesText(NumberAt(layer, "gathered_bytes")) : "–"}});
  }
  const std::string ceilings =
      best.gflops > 0
          ? fmt::format("this machine now, {} threads: {:.0f} GFLOP/s in cache, {:.1f} GB/s copied",
                        context.threads, best.gflops, best.copy_gbps)
          : "no ceiling measured";
  page.Table({"layer", "input", "training", "GFLOP/s", "gathered by aggregation"}, rows,
             {"By layer; " + ceilings, false, false});
  page.Paragraph(
      fmt::format("Peak memory {}{}.", BytesText(NumberAt(memory, "peak_rss_bytes")),
                  NumberAt(memory, "peak_device_bytes") > 0
                      ? fmt::format(" and {} on the device", BytesText(NumberAt(memory, "peak_device_bytes")))
                      : ""));
}

void AddSettings(const ReportJson& result, const std::string& config_json, Page& page) {
  page.Section("Settings and versions");
  std::vector<std::vector<Cell>> rows;
  const ReportJson config = ParseJson(config_json, "config");
  for (const auto& [name, value] : config.items()) {
    rows.push_back({{name}, {value.is_string() ? value.get<std::string>() : value.dump(), "l w"}});
  }
  page.Table({"setting", "value"}, rows, {"As resolved", true, false});
  rows.clear();
  const auto add = [&](const char* name, const std::string& value) {
    rows.push_back({{name}, {value, "l w"}});
  };
  add("l2gcn that trained", result.value("version", ""));
  add("l2gcn that wrote this", Version());
  add("device", result.value("device", ""));
  add("threads", fmt::format("{}", result.value("threads", 0)));
  if (result.contains("chosen")) add("chosen", result.at("chosen").dump());
  for (const auto& [name, value] : BuildFeatures()) add(name.c_str(), value);
  page.Table({"what", "value"}, rows, {"Versions and machine", false, false});
}

}  // namespace l2gcn
