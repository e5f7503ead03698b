// Comparisons as a user asks for them: one, or one for each value of what grows; written to a folder if there is one.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string_view>

#include "core/error_format.h"
#include "core/files.h"
#include "core/work_parts.h"
#include "l2gcn/compare.h"
#include "l2gcn/generate.h"
#include "l2gcn/ranks.h"
#include "report/comparison.h"
#include "run/run_lock.h"

namespace l2gcn {
namespace {

Study StudyOf(const std::vector<Comparison>& all, const CompareOptions& options) {
  Study study;
  for (const Comparison& comparison : all) {
    const bool first = study.json.empty();
    study.json += (first ? "" : ",\n") + ComparisonToJson(comparison);
    study.text += (first ? "" : "\n\n") + ComparisonToText(comparison);
    if (options.vary == "layers")
      study.text += fmt::format("\nlayers: {}", comparison.rows.front().config.layers);
    const std::string csv = ComparisonToCsv(comparison);
    study.csv += first ? csv : csv.substr(csv.find('\n'));
  }
  if (all.size() > 1) study.json = "{\"comparisons\": [\n" + study.json + "\n]}";
  study.files = ComparisonFigures(all, options.vary, options.values);
  return study;
}

std::shared_ptr<RunLock> ClaimFolder(const Context& context, const CompareOptions& options) {
  if (!Leads(context) || options.folder.empty()) return nullptr;
  std::shared_ptr<RunLock> lock;
  if (options.resume) lock = RunLock::TakeUp(options.folder, options.force);
  return lock != nullptr ? lock : RunLock::Take(options.folder, options.force);
}

void Write(const Study& study, RunLock& lock) {
  for (const auto& [name, content] : study.files) WriteFileWhole(lock.work() / name, content);
  WriteFileWhole(lock.work() / "comparison.txt", study.text + "\n");
  WriteFileWhole(lock.work() / "result.json", study.json + "\n");
  lock.Commit();
}

// A comparison for each of the values: compare(its context, options, value, the folder for trainings).
using CompareOne =
    std::function<Comparison(const Context&, const CompareOptions&, uint64_t, const std::string&)>;
Study CompareEach(const Context& context, const CompareOptions& options, const CompareOne& compare) {
  const std::shared_ptr<RunLock> lock = ClaimFolder(context, options);
  const std::string keep = lock != nullptr ? lock->checkpoint().string() : "";
  std::vector<uint64_t> values = options.values;
  if (options.vary.empty()) values = {0};
  WorkParts points("point", values.size());
  std::vector<Comparison> all;
  for (const uint64_t value : values) {
    CompareOptions one = options;
    if (options.vary == "layers") one.overrides.emplace_back("layers", std::to_string(value));
    all.push_back(compare(points.Part(context, all.size()), one, value, keep));
  }
  Study study = StudyOf(all, options);
  if (lock != nullptr) Write(study, *lock);
  return study;
}

void CheckVaried(const CompareOptions& options, bool generated) {
  if (options.vary == "nodes" && !generated)
    ThrowUsage("--vary nodes: a stored data set has the nodes it has; use synthetic:SHAPE");
  if (options.vary != "" && options.vary != "layers" && options.vary != "nodes")
    ThrowUsage("--vary {}: expected layers or nodes", options.vary);
  if (!options.vary.empty() && options.values.empty()) ThrowUsage("--vary {}: name a value", options.vary);
}

}  // namespace

Study Compare(const Context& context, const Dataset& dataset, const CompareOptions& options) {
  CheckVaried(options, false);
  return CompareEach(context, options,
                     [&](const Context& part, const CompareOptions& one, uint64_t, const std::string& keep) {
                       return MeasureComparison(part, dataset, one, keep);
                     });
}

Study Compare(const Context& context, const std::string& spec, const OpenOptions& open,
              const CompareOptions& options) {
  constexpr std::string_view kSynthetic = "synthetic:";
  CheckVaried(options, spec.starts_with(kSynthetic));
  Dataset dataset;
  bool opened = false;
  return CompareEach(
      context, options,
      [&](const Context& part, const CompareOptions& one, uint64_t value, const std::string& keep) {
        if (one.vary == "nodes") {
          GenerateOptions generate;
          generate.shape = spec.substr(kSynthetic.size());
          generate.seed = open.synthetic_seed;
          generate.nodes = value;
          dataset = GenerateDataset(context, generate);
        } else if (!std::exchange(opened, true)) {
          dataset = OpenForRanks(context, spec, open);
        }
        return MeasureComparison(part, dataset, one, keep);
      });
}

}  // namespace l2gcn
