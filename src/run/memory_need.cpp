#include "run/memory_need.h"

#include <algorithm>

#include "config/methods.h"
#include "core/error_format.h"
#include "core/memory_meter.h"

namespace l2gcn {

uint64_t LeastTrainingBytes(const Dataset& dataset, const TrainConfig& config) {
  if (FindMethod(config.method).loop != TrainingLoop::kLayerwise) return 0;
  uint64_t rows = dataset.nodes();
  if (config.setting == "inductive") {
    const Split split = ResolveSplit(dataset, config.split, config.seed);
    rows = static_cast<uint64_t>(
        std::count(split.roles.begin(), split.roles.end(), static_cast<uint8_t>(Role::kTrain)));
  }
  const uint64_t inputs = config.pca > 0 ? config.pca : dataset.features.cols();
  const uint64_t bytes = config.features_as == "f32" ? 4 : 2;
  const uint64_t read = dataset.features.is_sparse() && config.pca == 0 ? 0 : rows * inputs * bytes;
  const uint64_t copies = std::max<uint64_t>(1, config.reach);  // what is aggregated, power by power
  const uint64_t left = config.layers > 1 ? rows * config.HiddenOf(0) * bytes : 0;
  return copies * read + left;
}

void RefuseWithoutMemory(const Context& context, const Dataset& dataset, const TrainConfig& config) {
  MemoryCeiling ceiling = FindMemoryCeiling();
  if (context.host_memory != 0 && context.host_memory < ceiling.bytes) {
    ceiling.bytes = context.host_memory;
    ceiling.set_by = "the budget of host memory";
  }
  const uint64_t used = ResidentBytes(), need = LeastTrainingBytes(dataset, config);
  if (used + need <= ceiling.bytes) return;
  const auto gib = [](uint64_t bytes) { return static_cast<double>(bytes) / (uint64_t{1} << 30); };
  ThrowUsage(
      "training {} needs at least {:.2f} GiB besides the {:.2f} in use, but at most {:.2f} GiB are to be had "
      "({}); use "
      "{}--features-as f16, --pca, a smaller --hidden, a smaller graph, or more memory",
      dataset.name, gib(need), gib(used), gib(ceiling.bytes), ceiling.set_by,
      config.reach > 0 ? "--preset paper (plain layers), " : "");
}

}  // namespace l2gcn
