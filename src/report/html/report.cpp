// Which parts a report has: what each source is, decides.
#include "l2gcn/report.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/error_format.h"
#include "core/files.h"
#include "core/json_text.h"
#include "l2gcn/version.h"
#include "report/html/sections.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

// When a file was written, as text; empty where that is not known.
std::string WrittenText(const fs::path& path) {
  struct stat about = {};
  return ::stat(path.c_str(), &about) == 0 ? TimeText(about.st_mtime) : "";
}

const ReportJson& RunOfSeed(const ReportJson& result, uint64_t seed) {
  const ReportJson& runs = result.at("runs");
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const ReportJson& run) {
    return run.at("seed").get<uint64_t>() == seed;
  });
  return found == runs.end() ? runs.front() : *found;
}

// A page about one run directory.
class RunReport {
 public:
  RunReport(const Context& context, const RunRecord& record, const ReportOptions& options,
            const Dataset* dataset)
      : context_(context), record_(record), options_(options), dataset_(dataset) {}

  std::string Title() const {
    return fmt::format("{} · {}", record_.result.at("dataset").value("name", ""),
                       record_.result.value("method", ""));
  }

  std::string Below() const {
    const ReportJson &result = record_.result, &data = result.at("dataset");
    const size_t runs = result.at("runs").size();
    return fmt::format(
        "Run {}, finished {} · {} nodes, {} edges, {} features, {} classes · {} · {}, {} threads · l2gcn {}",
        record_.directory, record_.finished, CountText(data.value("nodes", uint64_t{0})),
        CountText(data.value("edges", uint64_t{0})), CountText(data.value("features", uint64_t{0})),
        CountText(data.value("classes", uint64_t{0})),
        runs == 1 ? fmt::format("seed {}", result.value("seed", uint64_t{0})) : fmt::format("{} seeds", runs),
        result.value("device", ""), result.value("threads", 0), result.value("version", ""));
  }

  // All that is shown of one seed is of the seed that OpenRun takes: the best on validation.
  void Add(Page& page) const {
    const ReportJson& result = record_.result;
    const OpenedRun run = OpenRun(record_.directory);
    const uint64_t seed = run.model.config.seed;
    const ReportJson& shown = RunOfSeed(result, seed);
    const size_t seeds = result.at("runs").size();
    AddScoreCards(result, page);
    AddSeeds(result, seed, record_.directory, page);
    if (seeds > 1) page.LabelSections(fmt::format("seed {}, best of {} on validation", seed, seeds));
    AddTraining(shown, page);
    if (options_.open_data) AddModel(run, page);
    page.LabelSections("");
    AddCosts(context_, result, shown, options_, page);
    AddSettings(result, ConfigToJson(run.model.config), page);
  }

 private:
  void AddModel(const OpenedRun& run, Page& page) const {
    std::vector<std::string> notes;
    try {
      if (dataset_ != nullptr) return AddModelParts(context_, run, *dataset_, options_.notes, options_, page);
      if (!run.knows_data) ThrowInput("the run was trained on a data set in memory, which no file holds");
      OpenOptions open = run.open_options;
      if (!options_.data_dir.empty()) open.data_dir = options_.data_dir;
      const Context noting = CollectingNotes(context_, notes);
      const Dataset opened = AlignLabels(noting, run.model, OpenDataset(noting, run.dataset_spec, open));
      AddModelParts(context_, run, opened, notes, options_, page);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput) throw;
      // The record is worth a page without the data.
      page.Section("Data");
      page.Paragraph(
          fmt::format("The data set cannot be used, so parts that need it are left out: {}", error.what()));
      context_.Warn(fmt::format("report: the data set cannot be used: {}", error.what()));
    }
  }

  const Context& context_;
  const RunRecord& record_;
  const ReportOptions& options_;
  const Dataset* dataset_;
};

// The record of a run directory. Comparisons have a result.json too, but no runs in it.
std::optional<RunRecord> ReadRun(const fs::path& source) {
  const fs::path path = source / "result.json";
  if (!fs::is_directory(source) || !fs::exists(path)) return std::nullopt;
  ReportJson result = ReadJsonFile(path.string());
  if (!result.contains("runs")) return std::nullopt;
  if (!result.at("runs").is_array() || result.at("runs").empty())
    ThrowInput("{}: names no seed; expected what l2gcn train wrote", path.string());
  return RunRecord{source.string(), std::move(result), WrittenText(path)};
}

// Comparisons and reproductions: JSON files, or a folder of them.
void AddJson(const fs::path& path, Page& page) {
  const ReportJson json = ReadJsonFile(path.string());
  if (json.contains("methods") && json.contains("dataset")) return AddComparison(json, page);
  if (json.contains("comparisons")) {
    for (const ReportJson& one : json.at("comparisons")) AddComparison(one, page);
    return;
  }
  if (json.contains("quick")) return AddReproduction(json, page);
  ThrowInput(
      "{}: neither a comparison nor a reproduction; expected what l2gcn compare --json printed or l2gcn "
      "reproduce wrote",
      path.string());
}

std::vector<fs::path> JsonFilesOf(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

namespace {

// A source that is no run: a file of a comparison or reproduction, or a folder of such files.
void AddFiles(const fs::path& source, bool alone, Page& page) {
  std::vector<fs::path> files;
  if (fs::is_regular_file(source)) files = {source};
  if (fs::is_directory(source)) files = JsonFilesOf(source);
  if (files.empty()) {
    ThrowInput(
        "{}: no run, comparison or reproduction; expected a directory that l2gcn train, compare or "
        "reproduce wrote, or its JSON file",
        source.string());
  }
  if (alone) {
    page.Heading(source.stem().string(), fmt::format("{}, written {} · l2gcn {}", source.string(),
                                                     WrittenText(files.front()), Version()));
  }
  for (const fs::path& file : files) AddJson(file, page);
}

// Calls what reads a source; JSON that lacks a key becomes a mistake of that source.
template <class Read>
auto NamingSource(const std::string& source, const Read& read) {
  try {
    return read();
  } catch (const ReportJson::exception& error) {
    ThrowInput("{}: not as l2gcn writes it: {}", source, error.what());
  }
}

}  // namespace

Context CollectingNotes(const Context& context, std::vector<std::string>& notes) {
  Context collecting = context;
  collecting.on_note = [tell = context.on_note, &notes](const std::string& text) {
    notes.push_back(text);
    if (tell) tell(text);
  };
  collecting.on_warning = [tell = context.on_warning, &notes](const std::string& text) {
    notes.push_back(text);
    if (tell) tell(text);
  };
  return collecting;
}

std::string MakeReport(const Context& context, const std::vector<std::string>& sources,
                       const ReportOptions& options, const Dataset* dataset) {
  if (sources.empty()) ThrowUsage("report: name at least one run, comparison or reproduction");
  const bool alone = sources.size() == 1;
  Page page(alone ? fs::path(sources.front()).filename().string() + " – l2gcn" : "l2gcn report");
  std::vector<RunRecord> runs;
  std::vector<std::string> others;
  for (const std::string& source : sources) {
    std::optional<RunRecord> run = NamingSource(source, [&] { return ReadRun(source); });
    if (run) {
      runs.push_back(std::move(*run));
    } else {
      others.push_back(source);
    }
  }
  if (!alone) page.Heading("l2gcn report", fmt::format("{} sources", sources.size()));
  if (runs.size() > 1) NamingSource("report", [&] { AddRuns(runs, page); });
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunReport report(context, runs[i], options, dataset);
    NamingSource(runs[i].directory, [&] {
      if (alone) {
        page.Heading(report.Title(), report.Below());
      } else {
        page.BeginPart(fmt::format("run-{}", i + 1), runs[i].directory, report.Title());
        page.Paragraph(report.Below());
      }
      report.Add(page);
      if (!alone) page.EndPart();
    });
  }
  for (const std::string& source : others) NamingSource(source, [&] { AddFiles(source, alone, page); });
  return page.Finish(
      fmt::format("Written by l2gcn {} on {}. This page holds all it shows and fetches nothing.", Version(),
                  TimeText(std::time(nullptr))));
}

void WriteReport(const Context& context, const std::vector<std::string>& sources,
                 const ReportOptions& options, const std::string& path, const Dataset* dataset) {
  WriteFileWhole(path, MakeReport(context, sources, options, dataset));
}

}  // namespace l2gcn
