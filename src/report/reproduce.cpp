// Each target is a list of (data set, settings) pairs that are measured, printed beside what the paper prints.
#include "l2gcn/reproduce.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "config/methods.h"
#include "core/error_format.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/memory_meter.h"
#include "core/work_parts.h"
#include "l2gcn/controller.h"
#include "l2gcn/generate.h"
#include "l2gcn/ranks.h"
#include "l2gcn/version.h"
#include "report/capacity/capacity_chart.h"
#include "report/comparison.h"
#include "report/figure/chart.h"
#include "report/paper_figures.h"
#include "report/reproduction.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kQuickEpochs = 20;
constexpr double kMostQuickRate = 0.01;
constexpr std::array<uint32_t, 3> kGrownNodes = {1, 2, 4};  // half the shape's nodes times this

bool Built(const std::string& method) {
  return std::find(BuiltMethods().begin(), BuiltMethods().end(), method) != BuiltMethods().end();
}

std::string OrDash(double value, const char* format) {
  return value < 0 ? "–" : fmt::format(fmt::runtime(format), value);
}

class Reproducer {
 public:
  // Trainings are kept in folder `keep`; "": nowhere.
  Reproducer(const Context& context, const ReproduceOptions& options, std::string keep)
      : context_(context),
        options_(options),
        keep_(std::move(keep)),
        runs_(options.runs > 0 ? options.runs
              : options.quick  ? 2
                               : 5) {}

  Study Run() {
    std::vector<std::string> wanted = {options_.target};
    if (options_.target == "all") wanted = ReproduceTargets();
    size_t cells = 0;
    for (const std::string& target : wanted) cells += CellsOf(target);
    cells_ = WorkParts("cell", cells);
    for (const std::string& target : wanted) RunTarget(target);
    json_["version"] = Version();
    json_["quick"] = options_.quick;
    json_["threads"] = context_.threads;
    done_.json = JsonText(json_, 2);
    if (!done_.text.empty()) done_.text.pop_back();
    return std::move(done_);
  }

 private:
  // Whether a row of the paper is asked for, and its method is there.
  bool Wants(const char* set, const char* method) const {
    const auto& sets = options_.sets;
    return Built(method) && (sets.empty() || std::find(sets.begin(), sets.end(), set) != sets.end());
  }

  template <class Rows>
  size_t CountWanted(const Rows& rows) const {
    return static_cast<size_t>(std::count_if(std::begin(rows), std::end(rows),
                                             [&](const auto& row) { return Wants(row.set, row.method); }));
  }

  // Comparisons that a target asks for, each a cell of progress.
  size_t CellsOf(const std::string& target) const {
    if (target == "table-sota") return CountWanted(paper::kSota);
    if (target == "table-epochs") return CountWanted(paper::kEpochs);
    if (target == "table-depth") return CountWanted(paper::kDepth);
    if (target == "table-ngcn") return CountWanted(paper::kNgcnTable);
    if (target == "table-complexity")
      return std::size(paper::kComplexity) * (MostGrownLayers() + kGrownNodes.size());
    const auto count = [](const auto& rows, const auto& wanted) {
      return static_cast<size_t>(std::count_if(std::begin(rows), std::end(rows), wanted));
    };
    if (target == "table-transfer")
      return count(paper::kTransfer, [&](const auto& row) { return Wants(row.set, method_names::kL2gcn); });
    if (target == "fig-loss") return count(paper::kEpochs, [&](const auto& row) { return Draws(row); });
    if (target == "fig-summary" && options_.target != "all")  // else table-sota has its cells
      return count(paper::kSota,
                   [&](const auto& row) { return IsReddit(row) && Wants(row.set, row.method); });
    return 0;
  }

  static bool IsReddit(const paper::SotaRow& row) { return std::string_view(row.set) == "reddit"; }
  // Whether fig-loss has a curve of the row.
  bool Draws(const paper::EpochsRow& row) const {
    const std::string_view set = row.set;
    return Wants(row.set, row.method) && (!options_.quick || set == "cora" || set == "pubmed");
  }
  uint32_t MostGrownLayers() const { return options_.quick ? 3 : 5; }

  // One method measured: a cell.
  CompareRow Cell(const Dataset& dataset, const CompareOptions& options) {
    return MeasureComparison(cells_.Part(context_, next_cell_++), dataset, options, keep_).rows.front();
  }

  void RunTarget(const std::string& target) {
    done_.text += fmt::format("== {}{} ==\n", target, options_.quick ? " (quick)" : "");
    if (target == "table-sota") Sota();
    if (target == "table-transfer") Transfer();
    if (target == "table-epochs") Epochs(target, paper::kEpochs);
    if (target == "table-depth") Epochs(target, paper::kDepth);
    if (target == "table-ngcn") Ngcn();
    if (target == "table-complexity") Complexity();
    if (target == "fig-summary") Summary();
    if (target == "fig-loss") LossCurves();
    if (target == "theorems") Theorems();
    done_.text += "\n";
  }

  // The real set where it is found, else the generated shape; what was taken is in Source().
  const Dataset& Open(const std::string& name) {
    const auto found = sets_.find(name);
    if (found != sets_.end()) return found->second;
    sets_.clear();  // one at a time: the large shapes fill the memory
    for (const KnownDataset& known : ListDatasets(options_.open)) {
      if (known.name == name && !known.found_at.empty()) {
        sources_[name] = "real";
        return sets_[name] = OpenDataset(context_, name, options_.open);
      }
    }
    GenerateOptions generate;
    generate.shape = name;
    if (options_.quick) generate.scale = QuickScale(name);
    sources_[name] = generate.scale == 1 ? "generated" : fmt::format("generated × {:g}", generate.scale);
    return sets_[name] = GenerateDataset(context_, generate);
  }

  CompareRow Measure(const std::string& set, const std::string& method, Overrides overrides) {
    CompareOptions options;
    options.methods = {method};
    options.runs = runs_;
    options.max_seconds = options_.max_seconds;
    const Dataset& dataset = Open(set);
    if (options_.quick && sources_[set] != "real") MakeQuick(set, method, dataset, overrides);
    overrides.emplace_back("preset", "paper");
    options.overrides = std::move(overrides);
    return Cell(dataset, options);
  }

  // Fewer epochs; and where layers make fewer steps on a smaller set, longer ones.
  static void MakeQuick(const std::string& set, const std::string& method, const Dataset& dataset,
                        Overrides& overrides) {
    const TrainConfig usual = ResolveConfig({{"method", method}, {"preset", "paper"}}, dataset);
    const double fewer = static_cast<double>(usual.EpochsOf(0)) / kQuickEpochs / QuickScale(set);
    if (usual.EpochsOf(0) > kQuickEpochs) overrides.emplace_back("epochs", std::to_string(kQuickEpochs));
    if (FindMethod(method).loop == TrainingLoop::kLayerwise) {
      overrides.emplace_back("lr", fmt::format("{}", std::min(kMostQuickRate, *usual.lr * fewer)));
    }
  }

  Json RowJson(const std::string& set, const CompareRow& row, double paper_f1, double paper_seconds) const {
    const auto or_null = [](double value) { return value < 0 ? Json(nullptr) : Json(value); };
    return {{"set", set},
            {"data", sources_.at(set)},
            {"method", row.method},
            {"layers", row.config.layers},
            {"epochs", row.epochs},
            {"runs", row.runs},
            {"f1", 100 * row.f1},
            {"f1_sd", 100 * row.f1_sd},
            {"seconds", row.seconds},
            {"seconds_sd", row.seconds_sd},
            {"stopped_by_clock", row.stopped_by_clock},
            {"training_bytes", row.training_bytes},
            {"sampler_bytes", row.sampler_bytes},
            {"paper_f1", or_null(paper_f1)},
            {"paper_seconds", or_null(paper_seconds)}};
  }

  void Line(const std::string& text) { done_.text += text + "\n"; }

  void Compared(const std::string& target, const paper::SotaRow& printed) {
    if (!Wants(printed.set, printed.method)) return;
    const CompareRow row = Measure(printed.set, printed.method, {});
    Line(fmt::format("{:<11} {:<17} {:<15} {:>6.2f} ± {:<5.2f} {:>7} {:>11} {:>9} {:>10.1f} {:>9}",
                     printed.set, sources_[printed.set], printed.method, 100 * row.f1, 100 * row.f1_sd,
                     OrDash(printed.f1, "{:.1f}"), SecondsOf(row), OrDash(printed.seconds, "{:.2f}"),
                     static_cast<double>(row.training_bytes) / kMiB, OrDash(printed.mebibytes, "{:.0f}")));
    json_[target].push_back(RowJson(printed.set, row, printed.f1, printed.seconds));
    if (printed.mebibytes >= 0) json_[target].back()["paper_training_bytes"] = printed.mebibytes * kMiB;
    if (IsReddit(printed)) reddit_.push_back(row);
  }

  // A star where the clock ended a training, which `stars_` remembers.
  std::string SecondsOf(const CompareRow& row) {
    stars_ = stars_ || row.stopped_by_clock;
    return fmt::format("{:.3f}{}", row.seconds, row.stopped_by_clock ? "*" : "");
  }
  void ExplainStars() {
    if (stars_) Line(fmt::format("*: stopped past {:g} seconds of training", options_.max_seconds));
    stars_ = false;
  }

  void ComparedHead() {
    Line(fmt::format("{:<11} {:<17} {:<15} {:>14} {:>7} {:>11} {:>9} {:>10} {:>9}", "set", "data", "method",
                     "F1 ours %", "paper", "s ours", "paper", "MiB ours", "paper"));
  }

  void Sota() {
    ComparedHead();
    for (const paper::SotaRow& printed : paper::kSota) Compared("table-sota", printed);
    ExplainStars();
    Line("MiB ours: peak resident memory over the data set's own; the paper's is of a GPU.");
  }

  void Ngcn() {
    ComparedHead();
    for (const paper::SotaRow& printed : paper::kNgcnTable) Compared("table-ngcn", printed);
    ExplainStars();
  }

  void Epochs(const std::string& target, std::span<const paper::EpochsRow> rows) {
    Line(fmt::format("{:<11} {:<17} {:<7} {:>6} {:>12} {:>14} {:>7} {:>10}", "set", "data", "method",
                     "layers", "epochs", "F1 ours %", "paper", "s ours"));
    for (const paper::EpochsRow& printed : rows) {
      if (!Wants(printed.set, printed.method)) continue;
      Overrides overrides = {{"layers", std::to_string(printed.layers)}};
      if (printed.epochs[0] != '\0') overrides.emplace_back("epochs", printed.epochs);
      const CompareRow row = Measure(printed.set, printed.method, std::move(overrides));
      Line(fmt::format("{:<11} {:<17} {:<7} {:>6} {:>12.0f} {:>6.2f} ± {:<5.2f} {:>7.1f} {:>10}", printed.set,
                       sources_[printed.set], printed.method, printed.layers, row.epochs, 100 * row.f1,
                       100 * row.f1_sd, printed.f1, SecondsOf(row)));
      json_[target].push_back(RowJson(printed.set, row, printed.f1, -1));
    }
    ExplainStars();
  }

  // Controllers of the paper's kind, learned on one set and used on another.
  void Transfer() {
    Line(fmt::format("{:<11} {:<17} {:<8} {:<17} {:>14} {:>7} {:>9} {:>7} {:>10} {:>7}", "learned on", "data",
                     "used on", "data", "F1 ours %", "paper", "s ours", "paper", "search s", "paper"));
    std::string learned_on;
    double search_seconds = 0;
    const std::filesystem::path file =
        ScratchDirectory(context_) / fmt::format("l2gcn-reproduce-{}.controller", getpid());
    for (const paper::TransferRow& printed : paper::kTransfer) {
      if (!Wants(printed.set, method_names::kL2gcn)) continue;
      if (learned_on != printed.learned_on) {
        learned_on = printed.learned_on;
        SearchConfig search;
        search.kind = SearchConfig::Kind::kPaper;
        SearchResult found;
        SearchController(context_, {Open(learned_on)}, search, {}, &found).Save(file.string());
        search_seconds = found.seconds;
      }
      const CompareRow row = Measure(printed.set, method_names::kL2gcn, {{"controller", file.string()}});
      Line(fmt::format(
          "{:<11} {:<17} {:<8} {:<17} {:>6.2f} ± {:<5.2f} {:>7.1f} {:>9.3f} {:>7.2f} {:>10.1f} {:>7}",
          learned_on, sources_[learned_on], printed.set, sources_[printed.set], 100 * row.f1, 100 * row.f1_sd,
          printed.f1, row.seconds, printed.seconds, search_seconds,
          OrDash(printed.search_seconds, "{:.0f}")));
      Json entry = RowJson(printed.set, row, printed.f1, printed.seconds);
      entry["learned_on"] = learned_on;
      entry["learned_on_data"] = sources_[learned_on];
      entry["search_seconds"] = search_seconds;
      if (printed.search_seconds >= 0) entry["paper_search_seconds"] = printed.search_seconds;
      json_["table-transfer"].push_back(entry);
    }
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  }

  void Complexity() {
    Line(fmt::format("{:<11} {:<8} {:>10} {:>14} {:>10} {:>10} {:>12} {:>12}", "method", "grows", "at",
                     "s an epoch", "× first", "predicted", "MiB", "kept MiB"));
    GenerateOptions generate;
    generate.shape = "pubmed";
    const Dataset base = GenerateDataset(context_, generate);
    for (const paper::ComplexityRow& row : paper::kComplexity) {
      double first = 0;
      for (uint32_t layers = 1; layers <= MostGrownLayers(); ++layers) {
        const double predicted = row.exponential ? -1 : layers;
        first = Growth(base, row.method, "layers", layers, layers, predicted, first);
      }
    }
    for (const paper::ComplexityRow& row : paper::kComplexity) {
      double first = 0;
      for (const uint32_t times : kGrownNodes) {
        GenerateOptions larger = generate;
        larger.nodes = uint64_t{base.nodes()} / 2 * times;
        const Dataset grown = GenerateDataset(context_, larger);
        first = Growth(grown, row.method, "nodes", grown.nodes(), 2, times, first);
      }
    }
    Line(
        "predicted: the paper's terms relative to the first row; –: exponential in L until the whole graph "
        "is reached.");
    Line(
        "All on generated pubmed shapes; an epoch of N nodes has N/B steps, so every method's epoch grows "
        "with N.");
  }

  // One point of a growth curve; returns the first point's seconds.
  double Growth(const Dataset& dataset, const std::string& method, const char* what, uint64_t at,
                uint32_t layers, double predicted, double first) {
    CompareOptions options;
    options.methods = {method};
    const uint32_t epochs = options_.quick ? 2 : 5;
    options.overrides = {{"preset", "paper"},
                         {"layers", std::to_string(layers)},
                         {"epochs", std::to_string(epochs)},
                         {"hidden", "128"}};
    const CompareRow row = Cell(dataset, options);
    const double seconds = row.seconds / epochs;
    if (first == 0) first = seconds;
    Line(fmt::format("{:<11} {:<8} {:>10} {:>14.4f} {:>10.2f} {:>10} {:>12.1f} {:>12.1f}", method, what, at,
                     seconds, seconds / first, OrDash(predicted, "{:.1f}"),
                     static_cast<double>(row.training_bytes) / kMiB,
                     static_cast<double>(row.sampler_bytes) / kMiB));
    json_["table-complexity"].push_back({{"method", method},
                                         {"data", "generated pubmed"},
                                         {"grows", what},
                                         {"at", at},
                                         {"seconds_per_epoch", seconds},
                                         {"relative", seconds / first},
                                         {"predicted", predicted < 0 ? Json(nullptr) : Json(predicted)},
                                         {"training_bytes", row.training_bytes},
                                         {"sampler_bytes", row.sampler_bytes}});
    return first;
  }

  // Time × memory with F1 as the marker's size, on reddit.
  void Summary() {
    if (!Wants("reddit", method_names::kLgcn))
      return Line("the figure is of reddit, which --sets leaves out");
    if (reddit_.empty()) {
      ComparedHead();
      for (const paper::SotaRow& printed : paper::kSota) {
        if (IsReddit(printed)) Compared("fig-summary", printed);
      }
      ExplainStars();
    }
    Chart chart;
    chart.title = fmt::format("Time, memory and F1 on reddit ({})", sources_["reddit"]);
    chart.x_label = "training seconds";
    chart.y_label = "memory, MiB";
    chart.log_x = chart.log_y = true;
    ChartSeries here{"this engine", {}, {}, SeriesStyle::kPoints, 0, {}, {}, true};
    ChartSeries there{"the paper", {}, {}, SeriesStyle::kHollowPoints, 1, {}, {}, true};
    for (const CompareRow& row : reddit_) {
      here.x.push_back(row.seconds);
      here.y.push_back(std::max(1.0, static_cast<double>(row.training_bytes)) / kMiB);
      here.labels.push_back(
          fmt::format("{} {:.1f} %{}", row.method, 100 * row.f1, row.stopped_by_clock ? " (stopped)" : ""));
    }
    for (const paper::SotaRow& printed : paper::kSota) {
      if (!IsReddit(printed) || printed.seconds < 0) continue;
      there.x.push_back(printed.seconds);
      there.y.push_back(printed.mebibytes);
      there.labels.push_back(fmt::format("{} {:.1f} %", printed.method, printed.f1));
    }
    chart.series = {std::move(here), std::move(there)};
    Figure("fig-summary", chart);
  }

  void Figure(const std::string& name, const Chart& chart) {
    done_.files.emplace_back(name + ".svg", ChartToSvg(chart));
    Line(fmt::format("written: {}.svg", name));
  }

  // Theorems 5 and 6: the share of graphs told apart by depth, for colour refinement and both trainings.
  void Theorems() {
    ReproduceOptions::Theorems options = options_.theorems;
    if (options_.quick) options.most_nodes = std::min(options.most_nodes, 6u);
    const CapacityResult result = MeasureCapacity(context_, options);
    done_.text += CapacityToText(result) + "\n";
    json_["theorems"] = ParseJson(CapacityToJson(result), "capacity");
    Figure("theorems", CapacityChart(result));
  }

  // Loss by epoch, all layers in a row, for the epoch configurations of the paper's table.
  void LossCurves() {
    std::map<std::string, Chart> charts;
    for (const paper::EpochsRow& printed : paper::kEpochs) {
      if (!Draws(printed)) continue;
      Overrides overrides = {{"layers", std::to_string(printed.layers)}};
      if (printed.epochs[0] != '\0') overrides.emplace_back("epochs", printed.epochs);
      const CompareRow row = Measure(printed.set, printed.method, std::move(overrides));
      Chart& chart = charts[printed.set];
      chart.title = fmt::format("Loss by epoch, {} ({})", printed.set, sources_[printed.set]);
      chart.x_label = "epoch, layers one after another";
      chart.y_label = "loss of the epoch's last batch";
      chart.whole_x = true;
      ChartSeries series;
      series.name = std::string(printed.method) +
                    (printed.epochs[0] != '\0' ? fmt::format(" {0}+{0}", printed.epochs) : "");
      const bool learned = std::string_view(printed.method) == method_names::kL2gcn;
      series.colour = learned ? 0 : static_cast<int>(chart.series.size() + 1);
      for (const auto& layer : row.losses) {
        for (double loss : layer) {
          series.x.push_back(static_cast<double>(series.x.size() + 1));
          series.y.push_back(loss);
        }
      }
      chart.series.push_back(std::move(series));
      Json entry = RowJson(printed.set, row, printed.f1, -1);
      entry["loss"] = row.losses;
      json_["fig-loss"].push_back(entry);
    }
    for (const auto& [set, chart] : charts) Figure(fmt::format("fig-loss-{}", set), chart);
  }

  const Context& context_;
  const ReproduceOptions& options_;
  const std::string keep_;
  const uint32_t runs_;
  std::map<std::string, Dataset> sets_;
  std::map<std::string, std::string> sources_;
  WorkParts cells_{"cell", 0};
  size_t next_cell_ = 0;
  std::vector<CompareRow> reddit_;  // rows that fig-summary draws
  bool stars_ = false;              // rows of the present table that the clock ended
  Json json_;
  Study done_;
};

}  // namespace

Study Reproduce(const Context& context, const ReproduceOptions& options) {
  CheckReproduction(options);
  const bool writes = Leads(context) && !options.folder.empty();
  Study study = Reproducer(context, options, writes ? BeginReproduction(options) : "").Run();
  if (writes) WriteReproduction(study, options);
  return study;
}

}  // namespace l2gcn
