// From a configuration to a trained, evaluated, stored run: which trainer a method means, which policy stops
// it, and the loop over seeds.
#include "l2gcn/train.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "config/methods.h"
#include "config/stop_policies.h"
#include "core/clock.h"
#include "core/device_choice.h"
#include "core/error_format.h"
#include "core/memory_meter.h"
#include "model/inference.h"
#include "pipeline/layer_pipeline.h"
#include "run/result_json.h"
#include "run/run_directory.h"
#include "run/trainer_choice.h"
#include "train/conventional_trainer.h"
#include "train/layerwise_trainer.h"

namespace l2gcn {
namespace {

double F1Of(const Dataset& dataset, const Matrix& logits, const Split& split, Role role) {
  return ScoreLogits(dataset, logits, split, role).micro_f1;
}

// One seed, on the device that was chosen.
Trained TrainSeed(const Context& context, const Dataset& dataset, const TrainConfig& config) {
  const SplitNodes nodes = NodesOf(dataset, config);
  const auto policy = MakeStopPolicy(config, dataset, nodes);
  return TrainWith(context, dataset, nodes, config, *policy);
}

}  // namespace

SplitNodes NodesOf(const Dataset& dataset, const TrainConfig& config) {
  return ResolveSplit(dataset, config.split, config.seed);
}

std::unique_ptr<StopPolicy> MakeStopPolicy(const TrainConfig& config, const Dataset& dataset,
                                           const SplitNodes& nodes) {
  const std::string stop = config.stop.empty() ? FindMethod(config.method).stop : config.stop;
  return FindStopPolicy(stop).make({config, dataset, nodes});
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
                  const TrainConfig& config, StopPolicy& policy) {
  switch (FindMethod(config.method).loop) {
    case TrainingLoop::kLayerwise:
      return FitLayerwise(context, dataset, nodes, config, policy);
    case TrainingLoop::kConventional:
      return FitConventional(context, dataset, nodes, config, policy);
    case TrainingLoop::kPowersLayerwise:
      return FitNgcnLayerwise(context, dataset, nodes, config, policy);
  }
  L2GCN_ASSERT(false);
}

Trained Train(const Context& context, const Dataset& dataset, const TrainConfig& config) {
  return TrainSeed(OnDeviceOf(context, config.method), dataset, config);
}

void EvaluateTrained(const Context& context, const Dataset& dataset, Trained& trained) {
  Stopwatch watch;
  if (context.on_progress) {
    Progress progress;
    progress.phase = "evaluate";
    context.on_progress(progress);
  }
  std::shared_ptr<LayerPipeline> pipeline = std::move(trained.pipeline);
  if (pipeline == nullptr || !pipeline->Serves(context, dataset)) {
    pipeline = std::make_shared<LayerPipeline>(context, dataset, trained.model);
  }
  const Matrix logits = Inference(std::move(pipeline)).Logits(context, trained.model, {});
  trained.result.f1_train = F1Of(dataset, logits, trained.split, Role::kTrain);
  trained.result.f1_val = F1Of(dataset, logits, trained.split, Role::kVal);
  trained.result.f1_test = F1Of(dataset, logits, trained.split, Role::kTest);
  trained.result.seconds.evaluate += watch.Seconds();
  trained.result.peak_rss_bytes = std::max(trained.result.peak_rss_bytes, PeakResidentBytes());
}

TrainResult RunTraining(const Context& context, const Dataset& dataset, const TrainConfig& config,
                        const RunOptions& options) {
  if (options.runs == 0) ThrowUsage("--runs 0: expected at least 1");
  const Context chosen = OnDeviceOf(context, config.method);
  std::unique_ptr<RunWriter> writer;
  if (options.write) writer = std::make_unique<RunWriter>(dataset, config, options);
  TrainResult result;
  result.config = config;
  result.dataset_json = DescribeDatasetJson(dataset);
  result.source_json = SourceToJson(options);
  result.device = DeviceName(chosen.device);
  result.threads = context.threads;
  if (writer) result.run = writer->directory();
  for (uint32_t i = 0; i < options.runs; ++i) {
    Stopwatch watch;
    TrainConfig seeded = config;
    seeded.seed = config.seed + i;
    Trained trained = TrainSeed(chosen, dataset, seeded);
    EvaluateTrained(chosen, dataset, trained);
    trained.result.seconds.load = options.load_seconds;
    trained.result.seconds.total = options.load_seconds + watch.Seconds();
    if (writer) {
      trained.result.run = writer->SeedDirectory(seeded.seed);
      writer->WriteSeed(trained, result);
    }
    result.seeds.push_back(std::move(trained.result));
  }
  if (writer) writer->Commit(result);
  return result;
}

}  // namespace l2gcn
