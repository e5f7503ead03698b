// Which parts a report has: what each source is, decides.
#include "l2gcn/report.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/error_format.h"
#include "core/files.h"
#include "l2gcn/version.h"
#include "report/html/sections.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

ReportJson ReadReportJson(const fs::path& path) {
  try {
    return ReportJson::parse(ReadTextFile(path));
  } catch (const ReportJson::exception& error) {
    ThrowInput("{}: damaged JSON: {}", path.string(), error.what());
  }
}

// A page about one run directory.
class RunReport {
 public:
  RunReport(const Context& context, const std::string& directory, const ReportOptions& options,
            const Dataset* dataset)
      : context_(context), directory_(directory), options_(options), dataset_(dataset) {}

  void Add(bool alone, Page& page) {
    const ReportJson result = ReadReportJson(fs::path(directory_) / "result.json");
    const ReportJson& data = result.at("dataset");
    const size_t runs = result.at("runs").size();
    const std::string title = fmt::format("{} · {}", data.value("name", ""), result.value("method", ""));
    const std::string below = fmt::format(
        "{} nodes, {} edges, {} features, {} classes · {} · {}, {} threads · l2gcn {}",
        CountText(data.value("nodes", uint64_t{0})), CountText(data.value("edges", uint64_t{0})),
        CountText(data.value("features", uint64_t{0})), CountText(data.value("classes", uint64_t{0})),
        runs == 1 ? fmt::format("seed {}", result.value("seed", uint64_t{0}))
                  : fmt::format("means of {} seeds", runs),
        result.value("device", ""), result.value("threads", 0), result.value("version", ""));
    if (alone) {
      page.Heading(title, below);
    } else {
      page.Section(fmt::format("Run {}", directory_));
      page.Paragraph(title + " · " + below);
    }
    AddScoreCards(result, page);
    AddSeeds(result, page);
    AddTraining(result, page);
    const OpenedRun run = OpenRun(directory_);
    if (options_.open_data) AddModel(run, page);
    AddCosts(context_, result, options_, page);
    AddSettings(result, ConfigToJson(run.model.config), page);
  }

 private:
  void AddModel(const OpenedRun& run, Page& page) {
    if (dataset_ != nullptr) return AddModelParts(context_, run, *dataset_, options_, page);
    try {
      if (!run.knows_data) ThrowInput("the run was trained on a data set in memory, which no file holds");
      OpenOptions open = run.open_options;
      if (!options_.data_dir.empty()) open.data_dir = options_.data_dir;
      const Dataset opened = OpenDataset(context_, run.dataset_spec, open);
      AddModelParts(context_, run, opened, options_, page);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput) throw;
      // The record is worth a page without the data.
      page.Section("Data");
      page.Paragraph(fmt::format("The data set could not be opened, so parts that need it are left out: {}",
                                 error.what()));
      context_.Warn(fmt::format("report: the data set could not be opened: {}", error.what()));
    }
  }

  const Context& context_;
  const std::string directory_;
  const ReportOptions& options_;
  const Dataset* dataset_;
};

// Comparisons have a result.json too, but no runs in it.
bool IsRun(const fs::path& source) {
  const fs::path record = source / "result.json";
  return fs::is_directory(source) && fs::exists(record) && ReadReportJson(record).contains("runs");
}

// Comparisons and reproductions: JSON files, or a folder of them.
void AddJson(const fs::path& path, Page& page) {
  const ReportJson json = ReadReportJson(path);
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

std::string MakeReport(const Context& context, const std::vector<std::string>& sources,
                       const ReportOptions& options, const Dataset* dataset) {
  if (sources.empty()) ThrowUsage("report: name at least one run, comparison or reproduction");
  const bool alone = sources.size() == 1;
  Page page(alone ? fs::path(sources.front()).filename().string() + " – l2gcn" : "l2gcn report");
  if (!alone) page.Heading("l2gcn report", fmt::format("{} sources", sources.size()));
  for (const std::string& source : sources) {
    try {
      if (IsRun(source)) {
        RunReport(context, source, options, dataset).Add(alone, page);
        continue;
      }
      if (alone) page.Heading(fs::path(source).stem().string(), "l2gcn " + Version());
      if (fs::is_regular_file(source)) {
        AddJson(source, page);
        continue;
      }
      const std::vector<fs::path> files =
          fs::is_directory(source) ? JsonFilesOf(source) : std::vector<fs::path>();
      if (files.empty()) {
        ThrowInput(
            "{}: no run, comparison or reproduction; expected a directory that l2gcn train, compare or "
            "reproduce wrote, or its JSON file",
            source);
      }
      for (const fs::path& file : files) AddJson(file, page);
    } catch (const ReportJson::exception& error) {
      ThrowInput("{}: not as l2gcn writes it: {}", source, error.what());
    }
  }
  return page.Finish(
      fmt::format("Written by l2gcn {}. This page holds all it shows and fetches nothing.", Version()));
}

void WriteReport(const Context& context, const std::vector<std::string>& sources,
                 const ReportOptions& options, const std::string& path, const Dataset* dataset) {
  WriteFileWhole(path, MakeReport(context, sources, options, dataset));
}

}  // namespace l2gcn
