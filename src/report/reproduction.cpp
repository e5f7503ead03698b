#include "report/reproduction.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "core/error_format.h"
#include "core/files.h"
#include "l2gcn/settings.h"
#include "report/paper_figures.h"

namespace l2gcn {

double QuickScale(const std::string& shape) {
  if (shape == "cora" || shape == "pubmed") return 1;
  return shape == "ppi" ? 0.1 : 0.02;  // ppi is 24 graphs, each of which needs room for its edges
}

std::vector<std::string> ReproduceSets() {
  std::vector<std::string> sets;
  for (const paper::SotaRow& row : paper::kSota) {
    if (sets.empty() || sets.back() != row.set) sets.push_back(row.set);
  }
  return sets;
}

std::vector<std::string> ReproduceTargets() {
  return {"table-complexity", "table-sota",  "table-transfer", "table-epochs", "table-depth",
          "table-ngcn",       "fig-summary", "fig-loss",       "theorems"};
}

void CheckReproduction(const ReproduceOptions& options) {
  if (options.target == "fig-capacity") ThrowUsage("reproduce fig-capacity: its name is now theorems");
  std::vector<std::string> targets = ReproduceTargets();
  targets.push_back("all");
  if (std::find(targets.begin(), targets.end(), options.target) == targets.end()) {
    const std::string near = Suggestion(options.target, targets);
    ThrowUsage("reproduce {}{} Valid: {}", options.target, near.empty() ? ": unknown." : near,
               fmt::join(targets, ", "));
  }
  const std::vector<std::string> known = ReproduceSets();
  for (const std::string& set : options.sets) {
    if (std::find(known.begin(), known.end(), set) != known.end()) continue;
    ThrowUsage("--sets {}: did you mean '{}'? Valid: {}", set, NearestName(set, known),
               fmt::join(known, ", "));
  }
  // These two generate their own graphs and train a fixed number of networks on them.
  const bool own = options.target == "theorems" || options.target == "table-complexity";
  const char* ignored = !own                      ? nullptr
                        : !options.sets.empty()   ? "--sets"
                        : options.runs > 0        ? "--runs"
                        : options.max_seconds > 0 ? "--max-seconds"
                                                  : nullptr;
  if (ignored != nullptr) ThrowUsage("{} has no effect on {}; leave it out", ignored, options.target);
}

namespace {

std::filesystem::path KeepingFolder(const ReproduceOptions& options) {
  return std::filesystem::path(options.folder) / fmt::format("{}.unfinished", options.target);
}

}  // namespace

std::string BeginReproduction(const ReproduceOptions& options) {
  const std::filesystem::path kept = KeepingFolder(options);
  std::error_code error;
  if (!options.resume) std::filesystem::remove_all(kept, error);
  std::filesystem::create_directories(kept, error);
  if (error) ThrowUsage("{}: cannot be made a folder: {}", kept.string(), error.message());
  CheckOutputFile(std::filesystem::path(options.folder) / (options.target + ".json"), true);
  return kept.string();
}

void WriteReproduction(const Study& study, const ReproduceOptions& options) {
  const std::filesystem::path directory = options.folder;
  WriteFileWhole(directory / (options.target + ".json"), study.json + "\n");
  for (const auto& [name, content] : study.files) WriteFileWhole(directory / name, content);
  std::error_code error;
  std::filesystem::remove_all(KeepingFolder(options), error);
}

}  // namespace l2gcn
