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
#include "l2gcn/controller.h"
#include "model/thresholds.h"
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

// Where the configuration asks for thresholds: those of the validation nodes, or the given one.
std::vector<double> ThresholdsFor(const Context& context, const Dataset& dataset, const Matrix& logits,
                                  const Trained& trained) {
  const std::string& asked = trained.model.config.threshold;
  if (asked.empty()) return {};
  if (asked == "auto") {
    const std::vector<uint32_t> nodes = NodesWithRole(trained.split, Role::kVal);
    return ChooseThresholds(context, dataset.labels, nodes, logits);
  }
  return std::vector<double>(dataset.labels.multilabel ? dataset.labels.classes : 1,
                             ParseNumber("threshold", asked));
}

void CountParts(const Dataset& dataset, const Split& split, SeedResult& result) {
  result.split = split.name;
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    switch (static_cast<Role>(split.roles[node])) {
      case Role::kTrain:
        ++result.train_nodes;
        break;
      case Role::kVal:
        ++result.val_nodes;
        break;
      case Role::kTest:
        ++result.test_nodes;
        break;
      case Role::kNone:
        ++(dataset.labels.IsLabelled(node) ? result.unused_nodes : result.unlabelled_nodes);
    }
  }
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

Trained TrainWith(const Context& context, const Dataset& dataset, const TrainConfig& config,
                  StopPolicy& policy) {
  const Context able = OnCapableDevice(context, config.method);
  const Split split = ResolveSplit(dataset, config.split, config.seed);
  if (config.method == "ngcn-layerwise") return FitNgcnLayerwise(able, dataset, split, config, policy);
  if (!TrainsLayerwise(config.method)) return FitConventional(able, dataset, split, config, policy);
  return FitLayerwise(able, dataset, split, config, policy);
}

Trained Train(const Context& context, const Dataset& dataset, const TrainConfig& config) {
  const Context able = OnCapableDevice(context, config.method);
  const auto policy = MakeStopPolicy(config, dataset);
  return TrainWith(able, dataset, config, *policy);
}

void EvaluateTrained(const Context& context, const Dataset& dataset, Trained& trained) {
  Stopwatch watch;
  if (context.on_progress) {
    Progress progress;
    progress.phase = "evaluate";
    context.on_progress(progress);
  }
  const Matrix logits = PredictLogits(context, trained.model, dataset);
  trained.model.thresholds = ThresholdsFor(context, dataset, logits, trained);
  SeedResult& result = trained.result;
  const auto score = [&](Role role, double& f1, double& baseline) {
    const Score part = ScoreClasses(dataset, logits, trained.split, role, trained.model.thresholds);
    f1 = part.micro_f1;
    baseline = part.baseline_f1;
    result.baseline = part.baseline;
  };
  score(Role::kTrain, result.f1_train, result.baseline_train);
  score(Role::kVal, result.f1_val, result.baseline_val);
  score(Role::kTest, result.f1_test, result.baseline_test);
  CountParts(dataset, trained.split, result);
  trained.result.seconds.evaluate += watch.Seconds();
  trained.result.peak_rss_bytes = std::max(trained.result.peak_rss_bytes, PeakResidentBytes());
}

namespace {

std::string CountOfThings(uint64_t count, const std::string& thing, const std::string& things = "") {
  return fmt::format("{} {}", count, count == 1 ? thing : things.empty() ? thing + "s" : things);
}

// What there is to learn from, before it begins. Throws Error(kInput) where there is nothing.
void TellTask(const Context& context, const Dataset& dataset, const TrainConfig& config) {
  const Labels& labels = dataset.labels;
  if (labels.classes == 0 || (labels.multilabel ? labels.matrix.empty() : labels.classes_of.empty())) {
    ThrowInput(
        "{}: has no labels, and training needs them; name a table with a label column (--nodes FILE "
        "--label COLUMN) or a file of labels (--labels FILE)",
        dataset.name);
  }
  const Split split = ResolveSplit(dataset, config.split, config.seed);
  SeedResult counts;
  CountParts(dataset, split, counts);
  std::string text =
      fmt::format("{}: {} with a label, {} without; {}", dataset.name,
                  CountOfThings(dataset.nodes() - counts.unlabelled_nodes, "node"), counts.unlabelled_nodes,
                  labels.multilabel ? CountOfThings(labels.classes, "label") + ", several a node"
                                    : CountOfThings(labels.classes, "class", "classes"));
  text += fmt::format("; split {}: {} train, {} val, {} test", split.name, counts.train_nodes,
                      counts.val_nodes, counts.test_nodes);
  if (counts.unused_nodes > 0) text += fmt::format(", {} in no part", counts.unused_nodes);
  context.Note(text);
}

// Says when a model is no better than the same answer for every node.
void TellBaseline(const Context& context, const SeedResult& result) {
  const bool tested = result.test_nodes > 0;
  const double f1 = tested ? result.f1_test : result.f1_val;
  const double baseline = tested ? result.baseline_test : result.baseline_val;
  if (!(f1 <= baseline)) return;
  context.Note(fmt::format(
      "seed {}: F1 {:.2f} % on the {} nodes does not beat {:.2f} % of the trivial answer ({}); try --scale "
      "standard, another --lr, more --epochs, or --class-weights balanced where classes are rare",
      result.seed, 100 * f1, tested ? "test" : "validation", 100 * baseline, result.baseline));
}

}  // namespace

TrainResult RunTraining(const Context& context, const Dataset& dataset, const TrainConfig& config,
                        const RunOptions& options) {
  if (options.runs == 0) ThrowUsage("--runs 0: expected at least 1");
  const Context able = OnCapableDevice(context, config.method);
  TellTask(context, dataset, config);
  std::unique_ptr<RunWriter> writer;
  if (options.write) writer = std::make_unique<RunWriter>(dataset, config, options);
  TrainResult result;
  result.config = config;
  result.dataset_json = DescribeDatasetJson(dataset);
  result.source_json = SourceToJson(options);
  result.device = able.device == DeviceKind::kCuda ? "cuda" : "cpu";
  result.threads = context.threads;
  if (writer) result.run = writer->directory();
  for (uint32_t i = 0; i < options.runs; ++i) {
    Stopwatch watch;
    TrainConfig seeded = config;
    seeded.seed = config.seed + i;
    Trained trained = Train(able, dataset, seeded);
    EvaluateTrained(able, dataset, trained);
    trained.result.seconds.load = options.load_seconds;
    trained.result.seconds.total = options.load_seconds + watch.Seconds();
    TellBaseline(context, trained.result);
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
