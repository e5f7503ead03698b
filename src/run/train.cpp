// From a configuration to a trained, evaluated, stored run: which trainer a method means, which policy stops
// it, and the loop over seeds.
#include "l2gcn/train.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <string_view>

#include "config/methods.h"
#include "config/stop_policies.h"
#include "core/clock.h"
#include "core/device_choice.h"
#include "core/disk_memory.h"
#include "core/error_format.h"
#include "core/json_text.h"
#include "core/memory_meter.h"
#include "core/usable.h"
#include "data/structure.h"
#include "l2gcn/plan.h"
#include "l2gcn/ranks.h"
#include "l2gcn/work_parts.h"
#include "model/counts.h"
#include "model/inference.h"
#include "model/model_shapes.h"
#include "model/score.h"
#include "model/spread.h"
#include "model/thresholds.h"
#include "pipeline/layer_pipeline.h"
#include "ranks/collectives.h"
#include "run/checkpoint.h"
#include "run/progress_log.h"
#include "run/ranks_keeper.h"
#include "run/result_json.h"
#include "run/run_directory.h"
#include "run/share_trained.h"
#include "run/trainer_choice.h"
#include "train/conventional_trainer.h"
#include "train/layerwise_trainer.h"

namespace l2gcn {
namespace {

// Where the configuration asks for thresholds: those of the validation nodes, or the given one.
std::vector<double> ThresholdsFor(const Context& context, const Dataset& dataset, const Matrix& logits,
                                  const Trained& trained) {
  const std::string& threshold = trained.model.config.threshold;
  if (threshold.empty()) return {};
  if (threshold == "auto") {
    const std::vector<uint32_t> nodes = NodesWithRole(trained.split, Role::kVal);
    return ChooseThresholds(context, dataset.labels, nodes, logits);
  }
  return std::vector<double>(dataset.labels.multilabel ? dataset.labels.classes : 1,
                             ParseNumber("threshold", threshold));
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

void CheckTrainable(const Context& context, const Dataset& dataset, const TrainConfig& config) {
  Validate(config);
  CheckUsable(context, dataset);
  if (dataset.labels.classes == 0) ThrowInput("{}: has no labels to learn from", dataset.name);
}

// One seed, on the device that was chosen; `make_policy` may be empty.
Trained TrainOnce(const Context& context, const Dataset& dataset, const TrainConfig& config,
                  const PolicyMaker& make_policy, SnapshotKeeper* keeper) {
  const SplitNodes nodes = NodesOf(dataset, config);
  const auto policy = make_policy ? make_policy(config, dataset) : MakeStopPolicy(config, dataset, nodes);
  if (policy == nullptr) ThrowUsage("RunOptions::make_policy returned no policy");
  return TrainWith(context, dataset, nodes, config, *policy, keeper);
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
                  const TrainConfig& config, StopPolicy& policy, SnapshotKeeper* keeper) {
  switch (FindMethod(config.method).loop) {
    case TrainingLoop::kLayerwise: {
      LayerwiseOptions options;
      options.keeper = keeper;
      return FitLayerwise(context, dataset, nodes, config, policy, std::move(options));
    }
    case TrainingLoop::kConventional:
      return FitConventional(context, dataset, nodes, config, policy, nullptr, keeper);
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
  return TrainOnce(OnDeviceOf(context, config.method), dataset, config, nullptr, nullptr);
}

namespace {

// What validation chose after training, where there was a choice.
void TellReadOut(const Context& context, const Model& model) {
  const TrainConfig& config = model.config;
  if (config.correct == "off" && (model.heads.empty() || config.read_out != "auto")) return;
  std::string text = model.mean_of_layers ? "probabilities are the mean of the layers'"
                                          : "probabilities are the last layer's";
  const Spreading& spreading = model.spreading;
  if (spreading.correct > 0)
    text += fmt::format("; residuals of train nodes are spread ({})", spreading.correct);
  if (spreading.smooth > 0) text += fmt::format("; labels of train nodes are spread ({})", spreading.smooth);
  context.Note(fmt::format("seed {}: {}", model.config.seed, text));
}

// Logits of every node by the read-out that the model has or that validation chooses. The pipeline goes.
Matrix LogitsOf(const Context& context, const Dataset& dataset, std::shared_ptr<LayerPipeline> pipeline,
                Trained& trained) {
  Inference inference(std::move(pipeline));
  std::vector<Matrix> of_layers;
  if (trained.model.heads.empty()) {
    of_layers.push_back(inference.Logits(context, trained.model, {}));
    if (trained.model.config.correct == "off") return of_layers.back();
  } else {
    of_layers = inference.LogitsOfLayers(context, trained.model);
  }
  return ChooseReadOut(context, inference.pipeline(), dataset, trained.split, std::move(of_layers),
                       trained.model);
}

// Whether answers are the largest of logits X Θ and nothing else, so that they can be counted where X lies.
bool AnswersAreCounted(const Model& model) {
  return model.heads.empty() && model.config.correct == "off" && model.config.threshold.empty() &&
         FindMethod(model.config.method).readout == Readout::kClassifier;
}

double* F1Of(Role role, SeedResult& result) {
  return role == Role::kTrain ? &result.f1_train : role == Role::kVal ? &result.f1_val : &result.f1_test;
}
double* BaselineOf(Role role, SeedResult& result) {
  return role == Role::kTrain ? &result.baseline_train
         : role == Role::kVal ? &result.baseline_val
                              : &result.baseline_test;
}
constexpr Role kScoredParts[] = {Role::kTrain, Role::kVal, Role::kTest};

// F1 of each part by counts that are taken block by block of nodes on the device: logits are never held.
void ScoreByCounts(const Context& context, const Dataset& dataset, std::shared_ptr<LayerPipeline> pipeline,
                   Trained& trained) {
  Inference inference(std::move(pipeline));
  LayerPipeline& layers = inference.pipeline();
  Backend& backend = layers.backend();
  // Rows of the last layer that training aggregated serve again, where they are summed in the order of inference.
  const TensorPtr xhat = layers.TakeLastInput();
  const DenseBlock block(trained.model.weights.back(),
                         trained.model.affines.empty() ? Matrix() : trained.model.affines.back());
  const bool again =
      xhat != nullptr && layers.InputCopies() == 1 && (block.w.rows <= block.w.cols || block.affine.rows > 0);
  const TensorPtr x =
      again ? layers.Transform(context, *xhat, block) : inference.LastHidden(context, trained.model);
  const auto last = static_cast<uint32_t>(trained.model.weights.size()) - 1;
  for (const Role role : kScoredParts) {
    const std::vector<uint32_t> nodes = LabelledNodes(dataset, trained.split, role);
    double& f1 = *F1Of(role, trained.result);
    f1 = std::numeric_limits<double>::quiet_NaN();
    if (nodes.empty()) continue;
    const auto rows = backend.PrepareScoring(
        context, x, Array<uint32_t>::CopyOf(again ? layers.RowsIn(last, nodes) : nodes),
        TargetsOf(dataset.labels, nodes));
    const RowScores scores = backend.Score(context, trained.model.theta, *rows);
    f1 = Counts{scores.true_positive, scores.false_positive, scores.false_negative}.F1();
  }
}

// F1 of each part by the logits of every node, with the read-out and the thresholds that validation chooses.
void ScoreByLogits(const Context& context, const Dataset& dataset, std::shared_ptr<LayerPipeline> pipeline,
                   Trained& trained) {
  const Matrix logits = LogitsOf(context, dataset, std::move(pipeline), trained);
  TellReadOut(context, trained.model);
  trained.model.thresholds = ThresholdsFor(context, dataset, logits, trained);
  for (const Role role : kScoredParts) {
    const Score score = ScoreClasses(dataset, logits, trained.split, role, trained.model.thresholds);
    *F1Of(role, trained.result) = score.micro_f1;
  }
}

}  // namespace

void EvaluateTrained(const Context& context, const Dataset& dataset, Trained& trained) {
  Stopwatch watch;
  StretchMeter memory;
  if (context.on_progress) {
    Progress progress;
    progress.phase = "evaluate";
    context.on_progress(progress);
  }
  std::shared_ptr<LayerPipeline> pipeline = std::move(trained.pipeline);
  if (pipeline == nullptr || !pipeline->Serves(context, dataset)) {
    pipeline = std::make_shared<LayerPipeline>(context, dataset, trained.model);
    pipeline->KnowLabels(dataset.labels, NodesWithRole(trained.split, Role::kTrain), trained.model.classes);
  }
  pipeline->ReleaseTrainOperator();
  pipeline->backend().ReleaseSpareMemory();
  ReturnFreeMemory();
  SeedResult& result = trained.result;
  if (AnswersAreCounted(trained.model)) {
    ScoreByCounts(context, dataset, std::move(pipeline), trained);
  } else {
    ScoreByLogits(context, dataset, std::move(pipeline), trained);
  }
  for (const Role role : kScoredParts) {
    BaselineScore baseline = ScoreBaseline(dataset, trained.split, role);
    *BaselineOf(role, result) = baseline.micro_f1;
    result.baseline = std::move(baseline.name);
  }
  CountParts(dataset, trained.split, result);
  result.seconds.evaluate += watch.Seconds();
  memory.End(result.resident.evaluate);
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
  if (!dataset.schema.label.empty()) text += fmt::format(" in column '{}'", dataset.schema.label);
  text += fmt::format("; split {}: {} train, {} val, {} test", split.name, counts.train_nodes,
                      counts.val_nodes, counts.test_nodes);
  if (counts.unused_nodes > 0) text += fmt::format(", {} in no part", counts.unused_nodes);
  context.Note(text);
}

// Says when a model is no better than the same answer for every node.
void TellBaseline(const Context& context, const TrainConfig& config, const SeedResult& result) {
  const bool tested = result.test_nodes > 0;
  const double f1 = tested ? result.f1_test : result.f1_val;
  const double baseline = tested ? result.baseline_test : result.baseline_val;
  if (!(f1 <= baseline)) return;
  std::string advice = config.scale == "none" ? "--scale standard, another --lr" : "another --lr";
  advice += config.class_weights.empty()
                ? ", more --epochs, or --class-weights balanced where classes are rare"
                : " or more --epochs";
  context.Note(fmt::format(
      "seed {}: F1 {:.2f} % on the {} nodes does not beat {:.2f} % of the trivial answer ({}); try {}",
      result.seed, 100 * f1, tested ? "test" : "validation", 100 * baseline, result.baseline, advice));
}

constexpr uint32_t kMostRestarts = 3;
constexpr double kLoweredRate = 1.0 / 3;

// Says that a seed that had diverged ended well, and keeps it in the result.
void TellRestarts(const Context& context, const TrainConfig& given, const TrainConfig& tried,
                  uint32_t restarts, SeedResult& result) {
  result.restarts = restarts;
  result.lowered_lr = tried.lr;
  context.Note(fmt::format("seed {}: ended well at --lr {:.4g} in place of {:.4g}, after {}", given.seed,
                           tried.lr, given.lr, CountOfThings(restarts, "restart")));
}

// Where a run's seeds are kept. Of ranks that share the work only rank 0 has a writer and a checkpoint.
struct Keeping {
  const RunOptions& options;
  RunWriter* writer = nullptr;
  Checkpoint* checkpoint = nullptr;
};

// Trains one seed, from its last snapshot on if there is one. A training that diverges begins again at a
// lower rate where the settings say so.
Trained TrainSeed(const Context& context, const Dataset& dataset, const TrainConfig& config,
                  const Keeping& keeping) {
  Checkpoint* const checkpoint = keeping.checkpoint;
  const PolicyMaker& make_policy = keeping.options.make_policy;
  uint32_t attempt = Agreed(context, checkpoint != nullptr ? checkpoint->attempt() : 0);
  for (;; ++attempt) {
    TrainConfig tried = config;
    for (uint32_t i = 0; i < attempt; ++i) tried.lr *= kLoweredRate;
    try {
      SnapshotKeeper* keeper = checkpoint;
      std::optional<RanksKeeper> together;
      if (context.ranks != nullptr && keeping.options.write) keeper = &together.emplace(context, checkpoint);
      // A policy of the caller's may remember what no snapshot knows: its seed begins anew.
      Trained trained = TrainOnce(context, dataset, tried, make_policy, make_policy ? nullptr : keeper);
      if (attempt > 0) TellRestarts(context, config, tried, attempt, trained.result);
      return trained;
    } catch (const Diverged& error) {
      if (config.on_nan != "restart" || config.FindsRate() || attempt == kMostRestarts) throw;
      context.Warn(fmt::format("seed {}: {}: the seed begins again at {} of the rate", config.seed,
                               error.what(), attempt == 0 ? "a third" : "a third once more"));
      if (checkpoint != nullptr) checkpoint->Restart();
    }
  }
}

// A seed trained and its model written, by this process or by one before it.
Trained TrainedSeed(const Context& context, const Dataset& dataset, const TrainConfig& config,
                    const Keeping& keeping) {
  Checkpoint* const checkpoint = keeping.checkpoint;
  if (!keeping.options.write) return TrainSeed(context, dataset, config, keeping);
  std::optional<SeedResult> done = checkpoint ? checkpoint->TrainedOnly(config.seed) : std::nullopt;
  if (Agreed(context, done.has_value())) {
    Trained trained;
    trained.model =
        UnpackModel(AgreedText(context, [&] { return PackModel(keeping.writer->ReadModel(config.seed)); }));
    trained.split = ResolveSplit(dataset, config.split, config.seed);
    if (done) trained.result = std::move(*done);
    return trained;
  }
  if (checkpoint) checkpoint->BeginSeed(config.seed);
  Trained trained = TrainSeed(context, dataset, config, keeping);
  if (checkpoint) {
    keeping.writer->WriteModel(trained);
    checkpoint->KeepTrained(trained.result);
  }
  return trained;
}

// What an end before the end leaves is told with it.
[[noreturn]] void RethrowWithProgress(const Error& error, const RunClaim& claim) {
  if (!claim.HasProgress()) throw error;
  const std::string cause = error.kind() == ErrorKind::kCancelled ? "stopped on request" : error.what();
  throw Error(error.kind(), fmt::format("{}; what is done is kept: go on with l2gcn train --resume {}", cause,
                                        claim.target().string()));
}

// The context with progress told to the log as well, but for lines that only say how much a run from disk has moved.
Context Telling(const Context& context, ProgressLog* log) {
  Context telling = context;
  if (log == nullptr) return telling;
  telling.on_progress = [show = context.on_progress, log](const Progress& progress) {
    if (show) show(progress);
    if (!std::string_view(progress.phase).starts_with(kPhaseOnDisk)) log->Tell(progress);
  };
  return telling;
}

// What ranks have sent each other, counted, beside what a formula says of the looks that were made.
void TellExchanged(const Context& context, uint64_t sent, const MemoryPlan& plan, uint64_t computed,
                   std::span<const LayerMoves> moves) {
  uint64_t looks = 0;
  for (const LayerMoves& of_layer : moves) looks += of_layer.looks;
  context.Note(
      fmt::format("exchanged: {} bytes between {} ranks ({}); the plan with {}: {} bytes, {:.1f} % of that",
                  sent, plan.ranks, plan.shares_memory ? "rows in shared memory" : "rows by messages",
                  CountOfThings(looks, "look"), computed,
                  100 * static_cast<double>(computed) / static_cast<double>(std::max<uint64_t>(1, sent))));
}

// The seeds of a run, one after another or shared out over ranks.
struct SeedLoop {
  const Context context;
  const Dataset& dataset;
  const TrainConfig& config;
  const RunOptions& options;
  bool together;    // ranks make one seed together (PlanTraining)
  uint64_t loaded;  // resident bytes when the data set was open
  RunWriter* writer;
  Checkpoint* checkpoint;
  ProgressLog* log;
  TrainResult& result;
  WorkParts parts{"seed", options.runs};
  std::vector<LayerMoves> moves = {};  // of the last seed that ranks made together

  void Run() {
    if (context.ranks != nullptr && !together) return ShareSeeds();
    for (uint32_t i = 0; i < options.runs; ++i) {
      const TrainConfig seeded = SeedAt(i);
      std::optional<SeedResult> done = Finished(seeded.seed);
      const bool finished = Agreed(context, done.has_value());
      if (done) result.seeds.push_back(std::move(*done));
      if (finished) continue;
      Trained trained = Make(context, seeded, {options, writer, checkpoint});
      Keep(trained);
      moves = std::move(trained.moves);
      result.seeds.push_back(std::move(trained.result));
    }
  }

 private:
  TrainConfig SeedAt(uint32_t i) const {
    TrainConfig seeded = config;
    seeded.seed = config.seed + i;
    return seeded;
  }

  std::optional<SeedResult> Finished(uint64_t seed) const {
    std::optional<SeedResult> done = checkpoint ? checkpoint->Finished(seed) : std::nullopt;
    if (done) done->run = writer->SeedDirectory(seed);
    return done;
  }

  // Trains and evaluates one seed.
  Trained Make(const Context& maker, const TrainConfig& seeded, const Keeping& keeping) {
    Stopwatch watch;
    if (log) log->BeginSeed(seeded.seed);
    const Context telling = Telling(parts.Part(maker, seeded.seed - config.seed), log);
    Trained trained = TrainedSeed(telling, dataset, seeded, keeping);
    EvaluateTrained(telling, dataset, trained);
    trained.result.seconds.load = options.load_seconds;
    if (options.load_seconds > 0) trained.result.resident.load = loaded;
    trained.result.seconds.total = options.load_seconds + watch.Seconds();
    return trained;
  }

  // Tells and writes a seed that is trained and evaluated.
  void Keep(Trained& trained) const {
    TellBaseline(context, config, trained.result);
    const uint64_t seed = trained.result.seed;
    if (writer) {
      trained.result.run = writer->SeedDirectory(seed);
      if (!trained.model.thresholds.empty() || !trained.model.heads.empty() || trained.model.spreading.on())
        writer->WriteModel(trained);  // with what evaluation chose
      writer->WriteSeed(trained, result);
      checkpoint->KeepFinished(trained.result);
    }
    if (options.on_seed && Leads(context)) options.on_seed(trained);
  }

  // Seeds that are not finished, each made by one rank and kept by rank 0. Only rank 0's own seeds have snapshots.
  void ShareSeeds() {
    std::vector<uint32_t> open;
    result.seeds.resize(Leads(context) ? options.runs : 0);
    std::vector<uint8_t> is_open(options.runs, 1);
    for (uint32_t i = 0; i < options.runs; ++i) {
      std::optional<SeedResult> done = Finished(SeedAt(i).seed);
      if (done) result.seeds[i] = std::move(*done), is_open[i] = 0;
    }
    Broadcast(*context.ranks, {reinterpret_cast<char*>(is_open.data()), is_open.size()});
    for (uint32_t i = 0; i < options.runs; ++i) {
      if (is_open[i] != 0) open.push_back(i);
    }
    RunOptions unwritten = options;
    unwritten.write = false;
    const Keeping alone{Leads(context) ? options : unwritten, writer, checkpoint};
    ShareOut(
        context, open.size(),
        [&](const Context& maker, size_t at) { return PackTrained(Make(maker, SeedAt(open[at]), alone)); },
        [&](size_t at, std::string bytes) {
          Trained trained = UnpackTrained(bytes);
          const TrainConfig seeded = SeedAt(open[at]);
          trained.split = ResolveSplit(dataset, seeded.split, seeded.seed);
          if (writer) writer->WriteModel(trained);
          Keep(trained);
          result.seeds[open[at]] = std::move(trained.result);
        });
  }
};

}  // namespace

TrainResult RunTraining(const Context& context, const Dataset& given, const TrainConfig& config,
                        const RunOptions& options) {
  const uint64_t loaded = PeakResidentBytes();
  if (options.runs == 0) ThrowUsage("--runs 0: expected at least 1");
  Validate(config);
  CheckSameData(context, given);
  TellTask(context, given, config);
  const Dataset dataset = WithStructure(context, given);
  const Context on_device = OnDeviceOf(context, config.method);
  const MemoryPlan plan = PlanTraining(on_device, dataset, config, options.runs);
  if (!plan.in_memory) context.Note(DescribePlan(plan));
  if (const std::string steps = DescribeSteps(plan); !steps.empty()) context.Note(steps);
  const Context chosen = Placed(on_device, dataset, plan);
  std::unique_ptr<RunWriter> writer;
  std::unique_ptr<Checkpoint> checkpoint;
  if (options.write && Leads(context)) {
    writer = std::make_unique<RunWriter>(dataset, config, options);
    checkpoint = std::make_unique<Checkpoint>(chosen, writer->claim().checkpoint(), dataset, config, options);
    if (chosen.disk != nullptr && context.ranks == nullptr) chosen.disk->KeepFor(writer->claim().work());
  }
  TrainResult result = BeginResult(chosen, given, config, options);
  if (writer) result.run = writer->directory();
  std::unique_ptr<ProgressLog> log;
  if (writer) log = std::make_unique<ProgressLog>(result.run, dataset.name, config.method, options.runs);
  try {
    const bool together = plan.ranks > 1;
    SeedLoop loop{chosen, dataset,      config,           options,   together,
                  loaded, writer.get(), checkpoint.get(), log.get(), result};
    const uint64_t sent_before = context.ranks != nullptr ? context.ranks->sent_bytes() : 0;
    loop.Run();
    if (together) {
      const uint64_t sent = SumOverRanks(*context.ranks, context.ranks->sent_bytes() - sent_before);
      const uint64_t computed = ExchangeOf(chosen, dataset, config, plan, loop.moves);
      TellExchanged(context, sent, plan, computed, loop.moves);
    }
    log.reset();
    if (chosen.disk != nullptr) {
      result.disk = chosen.disk->Use();
      // The seeds are written: a process that is killed from here on leaves no scratch.
      chosen.disk->EndKeeping();
    }
    if (writer) {
      result.snapshots = checkpoint->count();
      result.snapshot_bytes = checkpoint->written_bytes();
      result.snapshot_seconds = checkpoint->seconds();
      writer->Commit(result);
    }
  } catch (const Error& error) {
    if (!writer) throw;
    RethrowWithProgress(error, writer->claim());
  } catch (const std::bad_alloc&) {
    if (!writer || !writer->claim().HasProgress()) throw;
    RethrowWithProgress(Error(ErrorKind::kRuntime, OutOfMemoryMessage(0)), writer->claim());
  }
  return result;
}

}  // namespace l2gcn
