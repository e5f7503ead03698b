// Parts of a report that need the run's own record alone.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/json_text.h"
#include "l2gcn/ceilings.h"
#include "l2gcn/version.h"
#include "report/html/sections.h"

namespace l2gcn {
Chart EpochChart(const char* title, const char* y_label) {
  Chart chart;
  chart.title = title;
  chart.width = kPairWidth, chart.height = kPairHeight;
  chart.x_label = "epoch of the layer";
  chart.y_label = y_label;
  chart.whole_x = true;
  return chart;
}

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

ReportJson LayersOf(const ReportJson& run) { return run.value("layers", ReportJson::array()); }

// The epoch whose weights layer `l` (0-based) kept; 0 where the record does not say.
double KeptEpoch(const ReportJson& run, size_t l) {
  const ReportJson layers = LayersOf(run);
  return l < layers.size() ? layers[l].value("kept_epoch", 0.0) : 0;
}

ChartSeries KeptSeries() { return {"kept", {}, {}, SeriesStyle::kHollowPoints, 5, {}, {}, true}; }

// Marks the point of `curve` at epoch `kept`, if there is one.
void MarkKept(const ChartSeries& curve, double kept, ChartSeries& marks) {
  for (size_t i = 0; i < curve.x.size(); ++i) {
    if (curve.x[i] != kept) continue;
    marks.x.push_back(kept);
    marks.y.push_back(curve.y[i]);
    marks.labels.push_back(fmt::format("epoch {:.0f}", kept));
  }
}

// One line a layer. Points mark where a policy ended the layer, rings the epoch whose weights it kept.
Chart LossChart(const ReportJson& run) {
  Chart chart = EpochChart("Loss by epoch", "loss");
  ChartSeries ends{"stopped", {}, {}, SeriesStyle::kPoints, 5, {}, {}, true}, kept = KeptSeries();
  const ReportJson &losses = run.at("loss"), stops = LayersOf(run);
  for (size_t l = 0; l < losses.size(); ++l) {
    ChartSeries series;
    series.name = losses.size() == 1 ? "loss" : fmt::format("layer {}", l + 1);
    series.colour = static_cast<int>(l % 5);
    for (const ReportJson& loss : losses[l]) {
      series.x.push_back(static_cast<double>(series.x.size() + 1));
      series.y.push_back(loss.is_number() ? loss.get<double>() : std::numeric_limits<double>::quiet_NaN());
    }
    if (!series.x.empty() && l < stops.size() && stops[l].value("stopped_by", "budget") != "budget") {
      ends.x.push_back(series.x.back());
      ends.y.push_back(series.y.back());
    }
    MarkKept(series, KeptEpoch(run, l), kept);
    chart.series.push_back(std::move(series));
  }
  if (!ends.x.empty()) chart.series.push_back(std::move(ends));
  if (!kept.x.empty()) chart.series.push_back(std::move(kept));
  return chart;
}

Chart ProbabilityChart(const ReportJson& run) {
  Chart chart = EpochChart("Stopping probability by epoch", "probability of stopping");
  const ReportJson layers = LayersOf(run);
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

// A score is an object, or [seconds, layer, epoch, F1] in runs of earlier versions.
Chart ValidationChart(const ReportJson& run) {
  const ReportJson points = run.value("validation", ReportJson::array());
  const bool losses = !points.empty() && points.front().is_object() && points.front().contains("loss");
  Chart chart =
      losses ? EpochChart("Validation loss by epoch", "loss") : EpochChart("Validation F1 by epoch", "F1, %");
  std::map<uint64_t, ChartSeries> layers;
  for (const ReportJson& point : points) {
    const bool named = point.is_object();
    const auto layer = (named ? point.at("layer") : point.at(1)).get<uint64_t>();
    const ReportJson& score = named ? point.at(losses ? "loss" : "f1") : point.at(3);
    ChartSeries& series = layers[layer];
    series.x.push_back((named ? point.at("epoch") : point.at(2)).get<double>());
    series.y.push_back(score.is_number() ? (losses ? 1 : 100) * score.get<double>()
                                         : std::numeric_limits<double>::quiet_NaN());
  }
  ChartSeries kept = KeptSeries();
  for (auto& [layer, series] : layers) {
    series.name =
        layers.size() == 1 ? (losses ? "validation loss" : "validation F1") : fmt::format("layer {}", layer);
    series.colour = static_cast<int>((layer + 4) % 5);
    series.style = series.x.size() <= 60 ? SeriesStyle::kLineAndPoints : SeriesStyle::kLine;
    MarkKept(series, layer > 0 ? KeptEpoch(run, layer - 1) : 0, kept);
    chart.series.push_back(std::move(series));
  }
  if (!kept.x.empty()) chart.series.push_back(std::move(kept));
  return chart;
}

// The mean over seeds of what the trivial answer scores on test nodes; NaN where nothing says it.
double MeanBaseline(const ReportJson& result) {
  double sum = 0;
  for (const ReportJson& run : result.at("runs"))
    sum += NumberAt(run.value("baseline", ReportJson::object()), "test");
  return sum / static_cast<double>(result.at("runs").size());
}

}  // namespace

bool IsRegression(const ReportJson& result) { return result.contains("r2"); }

std::string ScoreText(const ReportJson& result, const char* part) {
  const bool regression = IsRegression(result);
  const double score = NumberAt(result.at(regression ? "r2" : "f1"), part),
               sd = NumberAt(result.value(regression ? "r2_sd" : "f1_sd", ReportJson::object()), part);
  if (!std::isfinite(score)) return "–";
  const bool several = result.at("runs").size() > 1 && std::isfinite(sd);
  if (regression) return several ? fmt::format("{:.4f} ± {:.4f}", score, sd) : fmt::format("{:.4f}", score);
  return several ? fmt::format("{:.2f} ± {:.2f} %", 100 * score, 100 * sd) : PercentText(score);
}

std::string EpochsText(const ReportJson& epochs) {
  std::vector<std::string> parts;
  for (const ReportJson& count : epochs) parts.push_back(fmt::format("{:.4g}", count.get<double>()));
  return fmt::format("{}", fmt::join(parts, " + "));
}

double TrainingSeconds(const ReportJson& record) {
  return SumOf(record.at("seconds"), {"aggregate", "train", "transform"});
}

void AddScoreCards(const ReportJson& result, Page& page) {
  std::vector<std::pair<std::string, std::string>> cards = {
      {IsRegression(result) ? "R² on test nodes" : "F1 on test nodes (micro)", ScoreText(result, "test")},
      {"on validation nodes", ScoreText(result, "val")},
      {"on train nodes", ScoreText(result, "train")}};
  const double baseline = MeanBaseline(result);
  if (std::isfinite(baseline)) {
    cards.emplace_back(
        "baseline on test: " + result.value("baseline", ReportJson::object()).value("name", ""),
        PercentText(baseline));
  }
  cards.emplace_back("epochs", EpochsText(result.at("epochs")));
  cards.emplace_back("training", SecondsText(TrainingSeconds(result)));
  cards.emplace_back("peak memory", BytesText(NumberAt(result.at("memory"), "peak_rss_bytes")));
  const double device = NumberAt(result.at("memory"), "peak_device_bytes");
  if (device > 0) cards.emplace_back("peak device memory", BytesText(device));
  const size_t seeds = result.at("runs").size();
  if (seeds > 1) {
    page.Paragraph(fmt::format(
        "Means of {} seeds; ± is the standard deviation over seeds. Peak memory is the largest of all.",
        seeds));
  }
  page.Cards(cards);
}

void AddSeeds(const ReportJson& result, uint64_t shown, const std::string& directory, Page& page) {
  if (result.at("runs").size() < 2) return;
  page.Section("Seeds");
  Chart chart;
  const bool regression = IsRegression(result);
  const std::string name = regression ? "R²" : "F1";
  chart.title = fmt::format("Test {} by seed", name);
  chart.x_label = "seed";
  chart.y_label = regression ? "R²" : "F1, %";
  chart.whole_x = true;
  chart.width = kPairWidth, chart.height = 300;
  ChartSeries points{"test " + name, {}, {}, SeriesStyle::kPoints, 0, {}, {}, true};
  std::vector<std::vector<Cell>> rows;
  for (const ReportJson& run : result.at("runs")) {
    const ReportJson& scores = run.at(regression ? "r2" : "f1");
    const auto text = [&](const char* part) {
      const double score = NumberAt(scores, part);
      return regression ? fmt::format("{:.4f}", score) : PercentText(score);
    };
    const auto seed = run.at("seed").get<uint64_t>();
    points.x.push_back(static_cast<double>(seed));
    points.y.push_back((regression ? 1 : 100) * NumberAt(scores, "test"));
    rows.push_back({{fmt::format("{}{}", seed, seed == shown ? " (shown)" : ""), "", std::to_string(seed)},
                    {text("train")},
                    {text("val")},
                    {text("test")},
                    {EpochsText(run.at("epochs"))},
                    {SecondsText(TrainingSeconds(run))}});
  }
  chart.series.push_back(std::move(points));
  page.Paragraph(fmt::format(
      "Curves, scores, predictions and the map below show seed {}, which scores best on validation "
      "nodes and is the one that evaluate and predict use. l2gcn report {}/seed-N shows another.",
      shown, directory));
  page.BeginPair();
  page.Table(
      {"seed", "train " + name, "validation " + name, "test " + name, "epochs", "training"}, rows,
      {fmt::format("{} seeds: {} on test nodes", rows.size(), ScoreText(result, "test")), true, false});
  page.Figure(chart, "");
  page.EndPair();
}

void AddTraining(const ReportJson& run, Page& page) {
  page.Section("Training");
  page.BeginPair();
  page.Figure(
      LossChart(run),
      "The loss of each epoch as the stop policy saw it. A ring marks the epoch whose weights a layer "
      "kept, a dot the epoch at which a policy ended it.");
  const Chart validation = ValidationChart(run);
  if (!validation.series.empty()) {
    page.Figure(validation, "Scored off the clock. A ring marks the epoch whose weights a layer kept.");
  }
  const Chart probabilities = ProbabilityChart(run);
  if (!probabilities.series.empty()) {
    page.Figure(probabilities,
                "The controller's probability at each decision; a layer ends where it decides to stop.");
  }
  page.EndPair();
  std::vector<std::vector<Cell>> rows;
  const ReportJson layers = LayersOf(run);
  for (size_t l = 0; l < layers.size(); ++l) {
    const ReportJson& layer = layers[l];
    const ReportJson decisions = layer.value("probabilities", ReportJson::array());
    rows.push_back({{fmt::format("{}", l + 1)},
                    {fmt::format("{}", layer.value("epochs", 0))},
                    {fmt::format("{}", layer.value("kept_epoch", 0))},
                    {layer.value("stopped_by", "")},
                    {decisions.empty() ? "–" : fmt::format("{:.3f}", decisions.back().at(1).get<double>())}});
  }
  page.Table({"layer", "epochs", "weights kept from epoch", "ended by", "last stopping probability"}, rows,
             {"How each layer ended", false, false});
}

void AddCosts(const Context& context, const ReportJson& result, const ReportJson& run,
              const ReportOptions& options, Page& page) {
  page.Section("Time and memory");
  const ReportJson& seconds = result.at("seconds");
  const double total = std::max(NumberAt(seconds, "total"), 1e-12);
  const size_t seeds = result.at("runs").size();
  std::vector<std::vector<Cell>> rows;
  const ReportJson& memory = result.at("memory");
  const ReportJson resident = memory.value("resident_bytes", ReportJson::object());
  for (const char* phase :
       {"load", "choose", "setup", "aggregate", "train", "transform", "validate", "looks", "evaluate"}) {
    const double spent = NumberAt(seconds, phase), bytes = NumberAt(resident, phase);
    // Earlier versions stored `validate` as `looks`. Runs that choose or evaluate nothing while training have 0.
    const bool validates = std::string_view(phase) == "validate" || std::string_view(phase) == "looks";
    if (!std::isfinite(spent) || (spent == 0 && (validates || phase == std::string_view("choose")))) continue;
    rows.push_back({{validates ? "validate" : phase},
                    {SecondsText(spent)},
                    {PercentText(spent / total)},
                    BarCell(spent / total),
                    {bytes > 0 ? BytesText(bytes) : "–"},
                    bytes > 0 ? BarCell(bytes / NumberAt(memory, "peak_rss_bytes")) : Cell{""}});
  }
  page.Table(
      {"phase", "seconds", "of the whole", "", "memory", "of the peak"}, rows,
      {fmt::format(
           "Seconds and memory by phase, {} in all{}; training is aggregate + train + transform. Memory is "
           "the peak where the phase raised it, else what was resident as the phase began or ended",
           SecondsText(total),
           seeds > 1 ? fmt::format(": seconds are means of {} seeds, memory is the most of all", seeds) : ""),
       false, false});
  const bool on_cpu = result.value("device", "cpu") == "cpu";
  const bool measures = options.ceilings && on_cpu;
  const double best_product = measures ? MeasureProduct(context) : 0,
               best_copy = measures ? MeasureCopy(context) : 0;
  rows.clear();
  const ReportJson layers = LayersOf(run);
  for (size_t l = 0; l < layers.size(); ++l) {
    const ReportJson& layer = layers[l];
    rows.push_back(
        {{fmt::format("{}", l + 1)},
         {layer.value("sparse", false) ? "sparse" : "dense"},
         {SecondsText(NumberAt(layer, "seconds"))},
         {RateText(NumberAt(layer, "flops"), NumberAt(layer, "seconds"), best_product)},
         {NumberAt(layer, "gathered_bytes") > 0 ? BytesText(NumberAt(layer, "gathered_bytes")) : "–"}});
  }
  const std::string ceilings =
      best_product > 0
          ? fmt::format("this machine now, {} threads: {:.0f} GFLOP/s in cache, {:.1f} GB/s copied",
                        context.threads, best_product, best_copy)
          : "no ceiling measured";
  page.Table(
      {"layer", "input", "training", "GFLOP/s", "gathered by aggregation"}, rows,
      {(seeds > 1 ? fmt::format("By layer, seed {}; ", run.at("seed").get<uint64_t>()) : "By layer; ") +
           ceilings,
       false, false});
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
  page.BeginFold(fmt::format("All {} settings", rows.size()));
  page.Table({"setting", "value"}, rows, {"As resolved", true, false});
  page.EndFold();
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
