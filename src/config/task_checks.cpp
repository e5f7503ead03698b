#include "config/task_checks.h"

#include "config/choice_names.h"
#include "config/methods.h"
#include "core/error_format.h"

namespace l2gcn {
namespace {

// What a regression has no use for, and what to do instead.
struct ClassSetting {
  const char* setting;
  bool (*is_set)(const TrainConfig&);
  const char* advice;
};

constexpr ClassSetting kClassSettings[] = {
    {"method", [](const TrainConfig& c) { return FindMethod(c.method).loop != TrainingLoop::kLayerwise; },
     "use --method layerwise"},
    {"stop controller", [](const TrainConfig& c) { return c.stop == StopRule::kController; },
     "use --stop plateau, early or fixed"},
    {"watch val",
     [](const TrainConfig& c) { return c.stop == StopRule::kEarly && c.watch == Watch::kValidationF1; },
     "use val-loss"},
    {"threshold", [](const TrainConfig& c) { return c.HasThreshold(); }, "leave it out"},
    {"class-weights", [](const TrainConfig& c) { return c.WeighsClasses(); }, "use --sample-weight COLUMN"},
    {"correct", [](const TrainConfig& c) { return c.correct != Choice::kOff; }, "leave it out"}};

}  // namespace

void CheckTask(const TrainConfig& config, const Dataset& dataset) {
  if (dataset.nodes() == 0) return;
  if (dataset.labels.task() != Task::kRegression) {
    if (config.loss == Loss::kSquared) return;
    ThrowUsage(
        "--loss {}: for regression; the labels of {} are classes (--task regression makes numbers targets)",
        NameOf<Loss>(kLossNames, config.loss), dataset.name);
  }
  for (const ClassSetting& row : kClassSettings) {
    if (row.is_set(config))
      ThrowUsage("--{}: for classes, and the labels of {} are targets of a regression; {}", row.setting,
                 dataset.name, row.advice);
  }
}

}  // namespace l2gcn
