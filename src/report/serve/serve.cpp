// The page of a run that is being trained, from its progress.jsonl, and the server of a run's pages.
#include "l2gcn/serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>

#include "core/error_format.h"
#include "core/json_text.h"
#include "l2gcn/version.h"
#include "report/html/sections.h"
#include "report/serve/http_server.h"
#include "report/serve/run_pages.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMostChartPoints = 2000;  // of a series: more than a screen shows

// What progress.jsonl says so far.
struct LiveRun {
  std::string dataset, method, phase;
  uint64_t seed = 0, seeds = 1;
  uint64_t seeds_begun = 0;
  int64_t started = 0;  // seconds since 1970; 0: not known
  ReportJson last = ReportJson::object();
  std::map<uint64_t, ChartSeries> losses;         // of the present seed, by layer
  std::map<uint64_t, ChartSeries> probabilities;  // likewise
  std::map<uint64_t, ChartSeries> validation;     // likewise: F1 in per cent
};

void AddPoints(const ReportJson& line, const char* key, std::map<uint64_t, ChartSeries>& all,
               SeriesStyle style) {
  if (!line.contains(key)) return;
  const uint64_t layer = std::max<uint64_t>(1, line.value("layer", uint64_t{1}));
  ChartSeries& series = all[layer];
  series.name = fmt::format("layer {}", layer);
  series.style = style;
  series.colour = static_cast<int>((layer - 1) % 5);
  for (const ReportJson& point : line.at(key)) {
    const double x = point.at(0).get<double>(), y = point.at(1).is_number() ? point.at(1).get<double>() : 0;
    series.x.push_back(x);
    series.y.push_back(y);
  }
}

// A line that is no JSON was cut off when a training was killed; the others are still worth showing.
ReportJson ProgressLine(std::string_view text) {
  try {
    return ParseJson(text, "progress.jsonl");
  } catch (const std::exception&) {
    return nullptr;
  }
}

// The line's validation score, [epoch, F1], if it has one.
void AddValidation(const ReportJson& line, LiveRun& live) {
  const ReportJson score = line.value("validation", ReportJson());
  if (!score.is_array() || score.size() != 2 || !score[0].is_number() || !score[1].is_number()) return;
  const ReportJson point = {{"layer", line.value("layer", uint64_t{1})},
                            {"points", {{score.at(0), 100 * score.at(1).get<double>()}}}};
  AddPoints(point, "points", live.validation, SeriesStyle::kLineAndPoints);
}

// Seconds that the whole training takes from here on if every layer uses all its epochs and takes as long as those
// before; negative where nothing is known yet.
double SecondsLeft(const LiveRun& live) {
  const auto number = [&](const char* key) { return live.last.value(key, 0.0); };
  if (!(number("epochs") > 0) || !(number("layers") > 0) || !(number("elapsed") > 0)) return -1;
  const double layers_done = std::max(0.0, number("layer") - 1) + number("epoch") / number("epochs");
  const double seeds = std::max<double>(1, static_cast<double>(live.seeds));
  const double seeds_done = std::max(0.0, static_cast<double>(live.seeds_begun) - 1);
  const double done = std::min(1.0, (seeds_done + layers_done / number("layers")) / seeds);
  return done > 0 ? number("elapsed") * (1 - done) / done : -1;
}

// "1 h 5 min", "2 min 40 s", "12 s".
std::string LongText(double seconds) {
  const auto whole = static_cast<uint64_t>(std::clamp(std::round(seconds), 0.0, 1e9));
  if (whole >= 3600) return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
  return whole >= 60 ? fmt::format("{} min {} s", whole / 60, whole % 60) : fmt::format("{} s", whole);
}

LiveRun ReadProgress(std::string_view text) {
  LiveRun live;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos) break;  // a line still being written
    const ReportJson line = ProgressLine(text.substr(at, end - at));
    at = end + 1;
    if (!line.is_object()) continue;
    if (line.value("event", "") == "begin") {
      live.dataset = line.value("dataset", "");
      live.method = line.value("method", "");
      live.seeds = line.value("runs", uint64_t{1});
      live.started = line.value("started", int64_t{0});
      continue;
    }
    if (line.value("event", "") == "seed") {
      live.seed = line.value("seed", uint64_t{0});
      ++live.seeds_begun;
      live.losses.clear();
      live.probabilities.clear();
      live.validation.clear();
      continue;
    }
    live.last = line;
    AddPoints(line, "losses", live.losses, SeriesStyle::kLine);
    AddPoints(line, "probabilities", live.probabilities, SeriesStyle::kLineAndPoints);
    AddValidation(line, live);
  }
  return live;
}

// At most so many points, evenly spaced, with the last one.
ChartSeries Thinned(const ChartSeries& series) {
  const size_t step = series.x.size() / kMostChartPoints + 1;
  if (step == 1) return series;
  ChartSeries thin = series;
  thin.x.clear();
  thin.y.clear();
  for (size_t i = (series.x.size() - 1) % step; i < series.x.size(); i += step) {
    thin.x.push_back(series.x[i]);
    thin.y.push_back(series.y[i]);
  }
  return thin;
}

void AddLiveChart(const std::map<uint64_t, ChartSeries>& series, const char* title, const char* y_label,
                  Page& page) {
  if (series.empty()) return;
  Chart chart = EpochChart(title, y_label);
  for (const auto& [layer, one] : series) chart.series.push_back(Thinned(one));
  page.Figure(chart, "");
}

std::string PageOf(const std::string& run, const LiveRun& live, const std::string& version) {
  Page page(fmt::format("{} – l2gcn", fs::path(run).filename().string()));
  page.Heading(live.dataset.empty() ? run : fmt::format("{} · {}", live.dataset, live.method),
               fmt::format("Run {} is being trained{}. This page follows it.", run,
                           live.started > 0 ? ", started " + TimeText(live.started) : ""));
  const ReportJson& last = live.last;
  const auto number = [&](const char* key) { return last.value(key, uint64_t{0}); };
  std::vector<std::pair<std::string, std::string>> cards = {
      {"phase", last.value("phase", "starting")},
      {"epoch", fmt::format("{} of {}", number("epoch"), number("epochs"))}};
  if (number("layers") > 0)
    cards.emplace_back("layer", fmt::format("{} of {}", number("layer"), number("layers")));
  if (last.contains("loss") && last.at("loss").is_number())
    cards.emplace_back("loss", fmt::format("{:.5g}", last.at("loss").get<double>()));
  if (last.value("stop_probability", -1.0) >= 0)
    cards.emplace_back("stopping probability", fmt::format("{:.3f}", last.value("stop_probability", -1.0)));
  if (!live.validation.empty()) {
    cards.emplace_back("validation F1 (micro)",
                       fmt::format("{:.2f} %", live.validation.rbegin()->second.y.back()));
  }
  if (live.seeds > 1)
    cards.emplace_back("seed", fmt::format("{} ({} of {})", live.seed, live.seeds_begun, live.seeds));
  if (last.value("elapsed", 0.0) > 0) cards.emplace_back("elapsed", LongText(last.value("elapsed", 0.0)));
  if (const double left = SecondsLeft(live); left >= 0)
    cards.emplace_back("left, at most about", LongText(left));
  page.Cards(cards);
  page.BeginPair();
  AddLiveChart(live.losses, "Loss by epoch", "loss", page);
  AddLiveChart(live.validation, "Validation F1 by epoch", "F1, %", page);
  AddLiveChart(live.probabilities, "Stopping probability by epoch", "probability of stopping", page);
  page.EndPair();
  return page.Finish("Written by l2gcn " + Version() + ".", version);
}

// Names as RefusedRequest wants them.
std::vector<std::string> HostNames(const std::vector<std::string>& given) {
  std::vector<std::string> names = given;
  for (std::string& name : names) {
    for (char& c : name) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-' && c != '_')
        ThrowUsage("--host {}: expected a host name without a port, such as lab.example.org", name);
      c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return names;
}

}  // namespace

std::string LivePage(const std::string& run, std::string_view progress, const std::string& version) {
  try {
    return PageOf(run, ReadProgress(progress), version);
  } catch (const ReportJson::exception& error) {
    ThrowInput("{}.unfinished/progress.jsonl: not as l2gcn writes it: {}", run, error.what());
  }
}

void ServeRun(const Context& context, const std::string& run, const ServeOptions& options) {
  std::string name = run;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  RunPages pages(context, name, options.report);
  HttpServer server(options.address, options.port, HostNames(options.hosts));
  if (options.on_ready) options.on_ready(server.url());
  server.Run(context, [&](const HttpRequest& request) { return pages.Answer(request); });
}

}  // namespace l2gcn
