// Which device, stopping rule and trainer a configuration means, and the training of one seed.
#include "l2gcn/train.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "config/methods.h"
#include "config/stop_policies.h"
#include "core/device_choice.h"
#include "core/error_format.h"
#include "core/usable.h"
#include "data/structure.h"
#include "run/trainer_choice.h"
#include "train/conventional_trainer.h"
#include "train/layerwise_trainer.h"

namespace l2gcn {
namespace {

void CheckTrainable(const Context& context, const Dataset& dataset, const TrainConfig& config) {
  Validate(config);
  CheckUsable(context, dataset);
  if (dataset.labels.classes == 0) ThrowInput("{}: has no labels to learn from", dataset.name);
}

}  // namespace

SplitNodes NodesOf(const Dataset& dataset, const TrainConfig& config) {
  return ResolveSplit(dataset, config.split, config.seed);
}

std::unique_ptr<StopPolicy> MakeStopPolicy(const TrainConfig& config, const Dataset& dataset) {
  Validate(config);
  return MakeStopPolicy(config, dataset, NodesOf(dataset, config));
}

std::unique_ptr<StopPolicy> MakeStopPolicy(const TrainConfig& config, const Dataset& dataset,
                                           const SplitNodes& nodes) {
  const StopRule stop = config.stop.value_or(OwnStop(config.method));
  return StopPolicyOf(stop).make({config, dataset, nodes});
}

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

Trained TrainWith(const Context& context, const Dataset& dataset, const SplitNodes& nodes,
                  const TrainConfig& config, StopPolicy& policy, Checkpointer* checkpointer) {
  switch (FindMethod(config.method).loop) {
    case TrainingLoop::kLayerwise: {
      LayerwiseOptions options;
      options.checkpointer = checkpointer;
      return FitLayerwise(context, dataset, nodes, config, policy, std::move(options));
    }
    case TrainingLoop::kConventional:
      return FitConventional(context, dataset, nodes, config, policy, nullptr, checkpointer);
    case TrainingLoop::kPowersLayerwise:
      return FitNgcnLayerwise(context, dataset, nodes, config, policy);
  }
  L2GCN_ASSERT(false);
}

Trained Train(const Context& context, const Dataset& given, const TrainConfig& config, StopPolicy& policy) {
  CheckTrainable(context, given, config);
  const Dataset dataset = WithStructure(context, given);
  return TrainWith(OnDeviceOf(context, config.method), dataset, NodesOf(dataset, config), config, policy);
}

Trained Train(const Context& context, const Dataset& given, const TrainConfig& config) {
  CheckTrainable(context, given, config);
  const Dataset dataset = WithStructure(context, given);
  const SplitNodes nodes = NodesOf(dataset, config);
  const auto policy = MakeStopPolicy(config, dataset, nodes);
  return TrainWith(OnDeviceOf(context, config.method), dataset, nodes, config, *policy);
}

}  // namespace l2gcn
