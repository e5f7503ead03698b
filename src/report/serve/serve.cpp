// What is served: while RUN.unfinished/progress.jsonl grows, a page with the losses so far; when the run is
// there, its whole report. The report is made on a thread of its own, so that the page answers meanwhile.
#include "l2gcn/serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <future>
#include <map>

#include "core/error_format.h"
#include "core/files.h"
#include "l2gcn/version.h"
#include "report/html/sections.h"
#include "report/serve/http_server.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(500);

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
    series.x.push_back(point.at(0).get<double>());
    series.y.push_back(point.at(1).is_number() ? point.at(1).get<double>() : 0);
  }
}

// The line's validation score, [epoch, F1], if it has one.
void AddValidation(const ReportJson& line, LiveRun& live) {
  if (!line.contains("validation") || !line.at("validation").at(1).is_number()) return;
  const ReportJson& score = line.at("validation");
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

LiveRun ReadProgress(const std::string& text) {
  LiveRun live;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos) break;  // a line still being written
    const ReportJson line = ReportJson::parse(text.substr(at, end - at), nullptr, false);
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

void AddLiveChart(const std::map<uint64_t, ChartSeries>& series, const char* title, const char* y_label,
                  Page& page) {
  if (series.empty()) return;
  Chart chart;
  chart.title = title;
  chart.width = kPairWidth, chart.height = kPairHeight;
  chart.x_label = "epoch of the layer";
  chart.y_label = y_label;
  chart.whole_x = true;
  for (const auto& [layer, one] : series) chart.series.push_back(one);
  page.Figure(chart, "");
}

std::string LivePage(const std::string& run, const LiveRun& live, const std::string& version) {
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

// progress.jsonl is a file like any other: one whose values are of the wrong kind costs the page, not the server.
std::string LivePageOf(const std::string& run, const std::string& text, const std::string& version) {
  try {
    return LivePage(run, ReadProgress(text), version);
  } catch (const ReportJson::exception& error) {
    Page page(run);
    page.Heading(run,
                 fmt::format("progress.jsonl is damaged, so there is nothing to show yet: {}", error.what()));
    return page.Finish("", version);
  }
}

std::string StampOf(const fs::path& path) {
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  if (error) return "";
  const auto size = fs::file_size(path, error);
  return fmt::format("{}-{}", time.time_since_epoch().count(), error ? 0 : size);
}

class RunPages {
 public:
  RunPages(const Context& context, const std::string& run, const ServeOptions& options)
      : context_(context),
        run_(run),
        options_(options),
        result_(fs::path(run) / "result.json"),
        progress_(fs::path(run + ".unfinished") / "progress.jsonl") {
    if (!fs::exists(result_) && !fs::is_directory(run + ".unfinished")) {
      ThrowInput(
          "{}: no run, and none in the making; expected the directory that l2gcn train writes or is about to "
          "write",
          run);
    }
    Look();
  }

  HttpAnswer Answer(const HttpRequest& request) {
    Look();
    if (request.path == "/version") return {200, "text/plain; charset=utf-8", version_, {}};
    if (request.path == "/favicon.ico") return {204, "", "", {}};
    if (request.path != "/")
      return {404, "text/plain; charset=utf-8", "there is nothing here; see " + std::string("/") + "\n", {}};
    return {200,
            "text/html; charset=utf-8",
            page_,
            {{"Content-Security-Policy", ContentSecurityPolicy(true) + "; frame-ancestors 'none'"}}};
  }

 private:
  // Notices what has changed, at most twice a second.
  void Look() {
    const auto now = std::chrono::steady_clock::now();
    if (!page_.empty() && now - looked_ < kBetweenLooks) return;
    looked_ = now;
    if (making_.valid()) {
      if (making_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) TakeReport();
      return;
    }
    const std::string done = StampOf(result_);
    if (!done.empty() && done != reported_) {
      reported_ = done;
      making_ = std::async(std::launch::async, [this] {
        return MakeReport(MakeContext(context_.threads), {run_}, options_.report);
      });
      if (page_.empty()) Waiting();
      return;
    }
    const std::string stamp = StampOf(progress_);
    if (done.empty() && (page_.empty() || stamp != version_)) {
      version_ = stamp.empty() ? "starting" : stamp;
      std::string text;
      if (!stamp.empty()) text = ReadTextFile(progress_);
      page_ = LivePageOf(run_, text, version_);
    }
  }

  void Waiting() {
    Page page(run_);
    page.Heading(run_, "The report is being made; this page follows.");
    version_ = "making";
    page_ = page.Finish("", version_);
  }

  void TakeReport() {
    try {
      page_ = making_.get();
    } catch (const Error& error) {
      Page page(run_);
      page.Heading(run_, fmt::format("The report could not be made: {}", error.what()));
      page_ = page.Finish("");
    }
    version_ = reported_;
  }

  const Context& context_;
  const std::string run_;
  const ServeOptions& options_;
  const fs::path result_, progress_;
  std::string page_, version_, reported_;
  std::chrono::steady_clock::time_point looked_;
  std::future<std::string> making_;
};

}  // namespace

void ServeRun(const Context& context, const std::string& run, const ServeOptions& options) {
  std::string name = run;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  RunPages pages(context, name, options);
  HttpServer server(options.address, options.port);
  if (options.on_ready) options.on_ready(server.url());
  server.Run(context, [&](const HttpRequest& request) { return pages.Answer(request); });
}

}  // namespace l2gcn
