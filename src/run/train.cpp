// From a configuration to a trained, evaluated, stored run: which trainer a method means, which policy stops
// it, and the loop over seeds.
#include "l2gcn/train.h"

#include <algorithm>
#include <limits>

#include "controller/learned_stop.h"
#include "core/clock.h"
#include "core/device_choice.h"
#include "core/error_format.h"
#include "core/memory_meter.h"
#include "core/usable.h"
#include "l2gcn/controller.h"
#include "run/result_json.h"
#include "run/run_directory.h"
#include "run/trainer_choice.h"
#include "train/conventional_trainer.h"
#include "train/layerwise_trainer.h"
#include "train/stop_policy.h"

namespace l2gcn {

namespace {

// Without validation nodes to look at, the shipped controller is the one that sees training losses alone.
Controller ControllerFor(const TrainConfig& config, const Dataset& dataset) {
  const Split split = ResolveSplit(dataset, config.split, config.seed);
  const std::vector<uint32_t> nodes = NodesWithRole(split, Role::kVal);
  const bool validated =
      std::any_of(nodes.begin(), nodes.end(), [&](uint32_t node) { return dataset.labels.IsLabelled(node); });
  if (config.controller.empty()) {
    const bool blind = config.controller_kind == "general" && !validated;
    return Controller::Shipped(blind ? "general-loss" : config.controller_kind);
  }
  Controller controller = Controller::Load(config.controller);
  if (controller.impl().SeesValidation() && !validated) {
    ThrowUsage(
        "{}: this controller looks at validation nodes, and split '{}' of {} has none; learn one with l2gcn "
        "search --sees loss, use the shipped one, or take another --split",
        config.controller, split.name, dataset.name);
  }
  return controller;
}

}  // namespace

std::unique_ptr<StopPolicy> MakeStopPolicy(const TrainConfig& config, const Dataset& dataset) {
  Validate(config);
  const std::string own = config.method == "l2gcn" ? "learned" : "fixed";
  const std::string stop = config.stop.empty() ? own : config.stop;
  if (stop == "fixed") return std::make_unique<FixedEpochs>();
  if (stop == "early") {
    const auto watch =
        config.watch == "val" ? EarlyStopping::Watch::kValidation : EarlyStopping::Watch::kLoss;
    return std::make_unique<EarlyStopping>(config.patience, watch);
  }
  L2GCN_ASSERT(stop == "learned");
  return MakeLearnedStop(ControllerFor(config, dataset), ChanceLoss(dataset.labels));
}

namespace {

double F1Of(const Dataset& dataset, const Matrix& logits, const Split& split, Role role) {
  return ScoreLogits(dataset, logits, split, role).micro_f1;
}

}  // namespace

Context OnCapableDevice(const Context& context, const std::string& method) {
  if (context.device == DeviceKind::kCpu || RunsOnCuda(method)) return context;
  if (!context.device_is_automatic) {
    ThrowUsage(
        "--device cuda: method {} trains on the CPU only; use --device cpu or auto, or --method lgcn or "
        "l2gcn",
        method);
  }
  return PreferCpu(context, "method " + method, "it has no CUDA part");
}

Trained Train(const Context& context, const Dataset& dataset, const TrainConfig& config, StopPolicy& policy) {
  Validate(config);
  CheckUsable(context, dataset);
  if (dataset.labels.classes == 0) ThrowInput("{}: has no labels to learn from", dataset.name);
  const Context able = OnCapableDevice(context, config.method);
  const Split split = ResolveSplit(dataset, config.split, config.seed);
  if (config.method == "ngcn-layerwise") return FitNgcnLayerwise(able, dataset, split, config, policy);
  if (!TrainsLayerwise(config.method)) return FitConventional(able, dataset, split, config, policy);
  return FitLayerwise(able, dataset, split, config, policy);
}

Trained Train(const Context& context, const Dataset& dataset, const TrainConfig& config) {
  const Context able = OnCapableDevice(context, config.method);
  const auto policy = MakeStopPolicy(config, dataset);
  return Train(able, dataset, config, *policy);
}

namespace {

Trained TrainSeed(const Context& context, const Dataset& dataset, const TrainConfig& config,
                  const PolicyMaker& make_policy) {
  if (!make_policy) return Train(context, dataset, config);
  const std::unique_ptr<StopPolicy> policy = make_policy(config, dataset);
  if (policy == nullptr) ThrowUsage("RunOptions::make_policy returned no policy");
  return Train(context, dataset, config, *policy);
}

}  // namespace

void EvaluateTrained(const Context& context, const Dataset& dataset, Trained& trained) {
  Stopwatch watch;
  if (context.on_progress) {
    Progress progress;
    progress.phase = "evaluate";
    context.on_progress(progress);
  }
  const Matrix logits = PredictLogits(context, trained.model, dataset);
  trained.result.f1_train = F1Of(dataset, logits, trained.split, Role::kTrain);
  trained.result.f1_val = F1Of(dataset, logits, trained.split, Role::kVal);
  trained.result.f1_test = F1Of(dataset, logits, trained.split, Role::kTest);
  trained.result.seconds.evaluate += watch.Seconds();
  trained.result.peak_rss_bytes = std::max(trained.result.peak_rss_bytes, PeakResidentBytes());
}

TrainResult RunTraining(const Context& context, const Dataset& dataset, const TrainConfig& config,
                        const RunOptions& options) {
  if (options.runs == 0) ThrowUsage("--runs 0: expected at least 1");
  Validate(config);
  const Context able = OnCapableDevice(context, config.method);
  std::unique_ptr<RunWriter> writer;
  if (options.write) writer = std::make_unique<RunWriter>(dataset, config, options);
  TrainResult result = BeginResult(able, dataset, config, options);
  if (writer) result.run = writer->directory();
  for (uint32_t i = 0; i < options.runs; ++i) {
    Stopwatch watch;
    TrainConfig seeded = config;
    seeded.seed = config.seed + i;
    Trained trained = TrainSeed(able, dataset, seeded, options.make_policy);
    EvaluateTrained(able, dataset, trained);
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
