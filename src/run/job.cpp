#include "run/job.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "config/methods.h"
#include "config/task_checks.h"
#include "core/device_choice.h"
#include "core/error_format.h"
#include "core/usable.h"
#include "data/structure.h"

namespace l2gcn {
namespace {

void RequireLabels(const Dataset& dataset) {
  const Labels& labels = dataset.labels;
  const bool any = !(labels.classes_of.empty() && labels.matrix.empty() && labels.targets.values.empty());
  if (labels.classes > 0 && any) return;
  ThrowInput(
      "{}: has no labels, and training needs them; name a table with a label column (--nodes FILE "
      "--label COLUMN) or a file of labels (--labels FILE)",
      dataset.name);
}

// Relations that nobody asked for and no layer can tell apart.
void LogJoinedRelations(const Context& context, const Dataset& dataset, const TrainConfig& config) {
  if (dataset.relations.empty() || !config.relations.empty()) return;
  context.Note(
      fmt::format("{}: {} relations are read as one, all edges together; layers with --self-features tell "
                  "them apart, and "
                  "--relations NAME takes one",
                  dataset.name, dataset.relations.size()));
}

}  // namespace

Context OnDeviceOf(const Context& context, const std::string& method) {
  const std::vector<DeviceKind>& devices = FindMethod(method).devices;
  if (std::find(devices.begin(), devices.end(), context.device) != devices.end()) return context;
  const std::string device = DeviceName(context.device);
  if (!context.device_is_automatic) {
    std::vector<std::string> others;
    for (const Method& row : Methods()) {
      if (std::find(row.devices.begin(), row.devices.end(), context.device) != row.devices.end()) {
        others.emplace_back(row.name);
      }
    }
    ThrowUsage("--device {}: method {} does not train there; use --device {} or auto, or --method {}", device,
               method, DeviceName(devices.front()), fmt::join(others, " or "));
  }
  return PreferCpu(context, "method " + method, fmt::format("it has no part for {}", device));
}

Job WithSeed(const Job& job, uint64_t seed) {
  Job seeded = job;
  seeded.config.seed = seed;
  seeded.nodes = std::make_shared<SplitNodes>(ResolveSplit(job.dataset, job.config.split, seed));
  return seeded;
}

Job MakeJob(const Context& context, const Dataset& dataset, const TrainConfig& config) {
  Validate(config);
  CheckUsable(context, dataset);
  RequireLabels(dataset);
  CheckTask(config, dataset);
  LogJoinedRelations(context, dataset, config);
  const Context chosen = OnDeviceOf(context, config.method);
  return WithSeed({chosen, WithStructure(context, dataset), config, nullptr, {}}, config.seed);
}

void PlaceJob(uint32_t runs, Job& job) {
  job.plan = PlanTraining(job.context, job.dataset, job.config, runs);
  if (!job.plan.in_memory) job.context.Note(DescribePlan(job.plan));
  job.context = Placed(job.context, job.dataset, job.plan);
}

}  // namespace l2gcn
