// The seeds of a run: trained, evaluated, written and resumed, one after another or shared out over ranks.
#include <algorithm>
#include <new>
#include <optional>
#include <string_view>

#include "core/clock.h"
#include "core/disk_memory.h"
#include "core/error_format.h"
#include "core/memory_meter.h"
#include "data/structure.h"
#include "l2gcn/plan.h"
#include "l2gcn/ranks.h"
#include "l2gcn/train.h"
#include "l2gcn/work_parts.h"
#include "model/model_shapes.h"
#include "ranks/collectives.h"
#include "run/checkpoint.h"
#include "run/evaluation.h"
#include "run/progress_log.h"
#include "run/ranks_checkpointer.h"
#include "run/result_json.h"
#include "run/run_directory.h"
#include "run/share_trained.h"
#include "run/trainer_choice.h"

namespace l2gcn {
namespace {

std::string CountOfThings(uint64_t count, const std::string& thing, const std::string& things = "") {
  return fmt::format("{} {}", count, count == 1 ? thing : things.empty() ? thing + "s" : things);
}

// Logs the training task before it begins. Throws Error(kInput) for a data set without labels.
void LogTask(const Context& context, const Dataset& dataset, const TrainConfig& config) {
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

// Notes a model that is no better than one answer for every node.
void LogBaseline(const Context& context, const TrainConfig& config, const SeedResult& result) {
  const bool tested = result.test_nodes > 0;
  const double f1 = tested ? result.f1_test : result.f1_val;
  const double baseline = tested ? result.baseline_test : result.baseline_val;
  if (!(f1 <= baseline)) return;
  std::string advice = config.scale == Scale::kNone ? "--scale standard, another --lr" : "another --lr";
  advice += !config.class_weights.on() ? ", more --epochs, or --class-weights balanced where classes are rare"
                                       : " or more --epochs";
  context.Note(fmt::format(
      "seed {}: F1 {:.2f} % on the {} nodes does not beat {:.2f} % of the trivial answer ({}); try {}",
      result.seed, 100 * f1, tested ? "test" : "validation", 100 * baseline, result.baseline, advice));
}

constexpr uint32_t kMostRestarts = 3;
constexpr double kLoweredRate = 1.0 / 3;

// Notes that a seed converged after restarts, and records it in the result.
void LogRestarts(const Context& context, const TrainConfig& given, const TrainConfig& tried,
                 uint32_t restarts, SeedResult& result) {
  result.restarts = restarts;
  result.lowered_lr = *tried.lr;
  context.Note(fmt::format("seed {}: ended well at --lr {:.4g} in place of {:.4g}, after {}", given.seed,
                           *tried.lr, *given.lr, CountOfThings(restarts, "restart")));
}

// Where the seeds of a run are written. Among ranks that share the work only rank 0 has a writer and a checkpoint.
struct SeedOutput {
  const RunOptions& options;
  RunWriter* writer = nullptr;
  Checkpoint* checkpoint = nullptr;
};

// Trains one seed, from its last snapshot on if there is one. A training that diverges begins again at a
// lower rate where the settings say so.
Trained TrainSeed(const Context& context, const Dataset& dataset, const TrainConfig& config,
                  const SeedOutput& output) {
  Checkpoint* const checkpoint = output.checkpoint;
  const PolicyMaker& make_policy = output.options.make_policy;
  const SplitNodes nodes = NodesOf(dataset, config);
  uint32_t attempt = Agreed(context, checkpoint != nullptr ? checkpoint->attempt() : 0);
  for (;; ++attempt) {
    TrainConfig tried = config;
    for (uint32_t i = 0; i < attempt; ++i) *tried.lr *= kLoweredRate;
    try {
      Checkpointer* checkpointer = checkpoint;
      std::optional<RanksCheckpointer> together;
      if (context.ranks != nullptr && output.options.write)
        checkpointer = &together.emplace(context, checkpoint);
      // A policy of the caller's may remember what no snapshot knows: its seed begins anew.
      const auto policy = make_policy ? make_policy(tried, dataset) : MakeStopPolicy(tried, dataset, nodes);
      if (policy == nullptr) ThrowUsage("RunOptions::make_policy returned no policy");
      Trained trained =
          TrainWith(context, dataset, nodes, tried, *policy, make_policy ? nullptr : checkpointer);
      if (attempt > 0) LogRestarts(context, config, tried, attempt, trained.result);
      return trained;
    } catch (const Diverged& error) {
      if (config.on_nan != OnNan::kRestart || config.FindsRate() || attempt == kMostRestarts) throw;
      context.Warn(fmt::format("seed {}: {}: the seed begins again at {} of the rate", config.seed,
                               error.what(), attempt == 0 ? "a third" : "a third once more"));
      if (checkpoint != nullptr) checkpoint->Restart();
    }
  }
}

// A seed trained and its model written, by this process or by one before it.
Trained TrainedSeed(const Context& context, const Dataset& dataset, const TrainConfig& config,
                    const SeedOutput& output) {
  Checkpoint* const checkpoint = output.checkpoint;
  if (!output.options.write) return TrainSeed(context, dataset, config, output);
  std::optional<KeptSeed> done;
  if (checkpoint) done = checkpoint->TrainedOnly(config.seed, output.writer->WorkDirectory(config.seed));
  if (Agreed(context, done.has_value())) {
    Trained trained;
    trained.model =
        UnpackModel(AgreedText(context, [&] { return PackModel(output.writer->ReadModel(config.seed)); }));
    trained.split = ResolveSplit(dataset, config.split, config.seed);
    if (done) trained.result = std::move(done->result);
    return trained;
  }
  if (checkpoint) checkpoint->BeginSeed(config.seed);
  Trained trained = TrainSeed(context, dataset, config, output);
  if (checkpoint) {
    const FileSums files = output.writer->WriteModel(trained);
    checkpoint->KeepTrained({trained.result, files});
  }
  return trained;
}

// Adds to an error how the run can be resumed.
[[noreturn]] void RethrowWithProgress(const Error& error, const RunLock& lock) {
  if (!lock.HasProgress()) throw error;
  const std::string cause = error.kind() == ErrorKind::kCancelled ? "stopped on request" : error.what();
  throw Error(error.kind(), fmt::format("{}; what is done is kept: go on with l2gcn train --resume {}", cause,
                                        lock.target().string()));
}

// A copy of the context that also writes progress to the log, except lines that only count the bytes a run from disk has moved.
Context WithProgressLog(const Context& context, ProgressLog* log) {
  Context logged = context;
  if (log == nullptr) return logged;
  logged.on_progress = [show = context.on_progress, log](const Progress& progress) {
    if (show) show(progress);
    if (!std::string_view(progress.phase).starts_with(kPhaseOnDisk)) log->Log(progress);
  };
  return logged;
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
    std::optional<KeptSeed> done;
    if (checkpoint) done = checkpoint->Finished(seed, writer->WorkDirectory(seed));
    if (!done) return std::nullopt;
    writer->AddSeed(seed, done->files);
    done->result.run = writer->SeedDirectory(seed);
    return std::move(done->result);
  }

  // Trains and evaluates one seed.
  Trained Make(const Context& maker, const TrainConfig& seeded, const SeedOutput& output) {
    Stopwatch watch;
    if (log) log->BeginSeed(seeded.seed);
    const Context logged = WithProgressLog(parts.Part(maker, seeded.seed - config.seed), log);
    Trained trained = TrainedSeed(logged, dataset, seeded, output);
    EvaluateTrained(logged, dataset, trained);
    trained.result.seconds.load = options.load_seconds;
    if (options.load_seconds > 0) trained.result.resident.load = loaded;
    trained.result.seconds.total = options.load_seconds + watch.Seconds();
    return trained;
  }

  // Logs and writes a seed that is trained and evaluated.
  void Keep(Trained& trained) const {
    LogBaseline(context, config, trained.result);
    const uint64_t seed = trained.result.seed;
    if (writer) {
      trained.result.run = writer->SeedDirectory(seed);
      if (!trained.model.thresholds.empty() || !trained.model.heads.empty() ||
          trained.model.label_propagation.on())
        writer->WriteModel(trained);  // with what evaluation chose
      const FileSums files = writer->WriteSeed(trained, result);
      checkpoint->KeepFinished({trained.result, files});
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
    const SeedOutput alone{Leads(context) ? options : unwritten, writer, checkpoint};
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
  LogTask(context, given, config);
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
    checkpoint = std::make_unique<Checkpoint>(chosen, writer->lock().checkpoint(), dataset, config, options);
  }
  TrainResult result = BeginResult(chosen, given, config, options);
  if (writer) result.run = writer->directory();
  std::unique_ptr<ProgressLog> log;
  if (writer) log = std::make_unique<ProgressLog>(result.run, dataset.name, config.method, options.runs);
  try {
    const bool together = plan.ranks > 1;
    SeedLoop loop{chosen, dataset,      config,           options,   together,
                  loaded, writer.get(), checkpoint.get(), log.get(), result};
    loop.Run();
    log.reset();
    if (chosen.disk != nullptr) result.disk = chosen.disk->Use();
    if (writer) {
      result.snapshots = checkpoint->count();
      result.snapshot_bytes = checkpoint->written_bytes();
      result.snapshot_seconds = checkpoint->seconds();
      writer->Commit(result);
    }
  } catch (const Error& error) {
    if (!writer) throw;
    RethrowWithProgress(error, writer->lock());
  } catch (const std::bad_alloc&) {
    if (!writer || !writer->lock().HasProgress()) throw;
    RethrowWithProgress(Error(ErrorKind::kRuntime, OutOfMemoryMessage(0)), writer->lock());
  }
  return result;
}

}  // namespace l2gcn
