// RunTraining: the seeds of a run are trained, evaluated and written, one after another or shared out over ranks. Those
// that an earlier process finished are taken as they are.
#include <new>
#include <optional>
#include <string_view>

#include "core/clock.h"
#include "core/disk_memory.h"
#include "core/error_format.h"
#include "core/memory_meter.h"
#include "core/work_parts.h"
#include "l2gcn/ranks.h"
#include "l2gcn/train.h"
#include "ranks/collectives.h"
#include "run/checkpoint.h"
#include "run/evaluation.h"
#include "run/job.h"
#include "run/progress_log.h"
#include "run/result_json.h"
#include "run/run_directory.h"
#include "run/share_trained.h"
#include "run/train_seed.h"

namespace l2gcn {
namespace {

std::string CountOfThings(uint64_t count, const std::string& thing, const std::string& things = "") {
  return fmt::format("{} {}", count, count == 1 ? thing : things.empty() ? thing + "s" : things);
}

std::string ThingsToLearn(const Labels& labels) {
  switch (labels.task()) {
    case Task::kClass:
      return CountOfThings(labels.classes, "class", "classes");
    case Task::kLabels:
      return CountOfThings(labels.classes, "label") + ", several a node";
    case Task::kRegression:
      break;
  }
  return "regression of " + CountOfThings(labels.classes, "target");
}

// What there is to learn from, before it begins.
void LogTask(const Job& job) {
  const Dataset& dataset = job.dataset;
  const Labels& labels = dataset.labels;
  SeedResult counts;
  CountParts(dataset, job.nodes->split, counts);
  std::string text = fmt::format("{}: {} with a label, {} without; {}", dataset.name,
                                 CountOfThings(dataset.nodes() - counts.unlabelled_nodes, "node"),
                                 counts.unlabelled_nodes, ThingsToLearn(labels));
  if (!dataset.schema.label.empty()) text += fmt::format(" in column '{}'", dataset.schema.label);
  text += fmt::format("; split {}: {} train, {} val, {} test", counts.split, counts.train_nodes,
                      counts.val_nodes, counts.test_nodes);
  if (counts.unused_nodes > 0) text += fmt::format(", {} in no part", counts.unused_nodes);
  job.context.Note(text);
}

// The same for a regression, whose baseline has an R² of about 0.
void LogBaselineOfRegression(const Context& context, const SeedResult& result) {
  const bool tested = result.test_nodes > 0;
  const double r2 = tested ? result.regression->test.r2 : result.regression->val.r2;
  if (!(r2 <= 0)) return;
  context.Note(
      fmt::format("seed {}: R² {:.4f} on the {} nodes does not beat the mean of the train nodes; try --loss "
                  "huber where some targets are far out, other features, or another --lr",
                  result.seed, r2, tested ? "test" : "validation"));
}

// Notes a model that is no better than one answer for every node.
void LogBaseline(const Context& context, const TrainConfig& config, const SeedResult& result) {
  if (result.regression) return LogBaselineOfRegression(context, result);
  const bool tested = result.test_nodes > 0;
  const double f1 = tested ? result.f1_test : result.f1_val;
  const double baseline = tested ? result.baseline_test : result.baseline_val;
  if (!(f1 <= baseline)) return;
  std::string advice = config.scale == Scale::kNone ? "--scale standard, another --lr" : "another --lr";
  advice += !config.WeighsClasses() ? ", more --epochs, or --class-weights balanced where classes are rare"
                                    : " or more --epochs";
  context.Note(fmt::format(
      "seed {}: F1 {:.2f} % on the {} nodes does not beat {:.2f} % of the trivial answer ({}); try {}",
      result.seed, 100 * f1, tested ? "test" : "validation", 100 * baseline, result.baseline, advice));
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
  const Job& job;  // of the first seed
  const RunOptions& options;
  uint64_t loaded;    // resident bytes when the data set was open
  RunWriter* writer;  // rank 0's alone, like the checkpoint and the log; null where nothing is written
  Checkpoint* checkpoint;
  ProgressLog* log;
  TrainResult& result;
  WorkParts parts{"seed", options.runs};

  void Run() {
    if (job.context.ranks != nullptr && job.plan.ranks == 1) return ShareSeeds();
    for (uint32_t i = 0; i < options.runs; ++i) {
      std::optional<SeedResult> done = Finished(i);
      const bool finished = Agreed(job.context, done.has_value());
      if (done) result.seeds.push_back(std::move(*done));
      if (finished) continue;
      Trained trained = TrainAndEvaluate(job.context, i);
      Write(trained);
      result.seeds.push_back(std::move(trained.result));
    }
  }

 private:
  std::optional<SeedResult> Finished(uint32_t i) const {
    if (checkpoint == nullptr) return std::nullopt;
    const uint64_t seed = job.config.seed + i;
    std::optional<KeptSeed> done = checkpoint->Finished(seed, writer->WorkDirectory(seed));
    if (!done) return std::nullopt;
    writer->AddSeed(seed, done->files);
    done->result.run = writer->SeedDirectory(seed);
    return std::move(done->result);
  }

  // The i-th seed. All that evaluation decides is in the model.
  Trained TrainAndEvaluate(const Context& context, uint32_t i) {
    Stopwatch watch;
    Job seeded = i == 0 ? job : WithSeed(job, job.config.seed + i);
    if (log) log->BeginSeed(seeded.config.seed);
    seeded.context = WithProgressLog(parts.Part(context, i), log);
    auto [trained, pipeline] = TrainSeed(seeded, options, checkpoint);
    Evaluate(seeded.context, seeded.dataset, std::move(pipeline), trained);
    trained.result.seconds.load = options.load_seconds;
    if (options.load_seconds > 0) trained.result.resident.load = loaded;
    trained.result.seconds.total = options.load_seconds + watch.Seconds();
    return std::move(trained);
  }

  // Writes and tells a seed that is trained and evaluated.
  void Write(Trained& trained) const {
    LogBaseline(job.context, job.config, trained.result);
    if (writer) {
      trained.result.run = writer->SeedDirectory(trained.result.seed);
      const FileSums files = writer->WriteSeed(trained, result);
      checkpoint->KeepFinished({trained.result, files});
    }
    if (options.on_seed && Leads(job.context)) options.on_seed(trained);
  }

  // Seeds that are not finished, each made by one rank and written by rank 0. Only rank 0's own seeds have snapshots.
  void ShareSeeds() {
    std::vector<uint32_t> open;
    result.seeds.resize(Leads(job.context) ? options.runs : 0);
    std::vector<uint8_t> is_open(options.runs, 1);
    for (uint32_t i = 0; i < options.runs; ++i) {
      std::optional<SeedResult> done = Finished(i);
      if (done) result.seeds[i] = std::move(*done), is_open[i] = 0;
    }
    Broadcast(*job.context.ranks, {reinterpret_cast<char*>(is_open.data()), is_open.size()});
    for (uint32_t i = 0; i < options.runs; ++i) {
      if (is_open[i] != 0) open.push_back(i);
    }
    ShareOut(
        job.context, open.size(),
        [&](const Context& maker, size_t at) { return PackTrained(TrainAndEvaluate(maker, open[at])); },
        [&](size_t at, std::string bytes) {
          Trained trained = UnpackTrained(bytes);
          Write(trained);
          result.seeds[open[at]] = std::move(trained.result);
        });
  }
};

}  // namespace

TrainResult RunTraining(const Context& context, const Dataset& dataset, const TrainConfig& config,
                        const RunOptions& options) {
  const uint64_t loaded = PeakResidentBytes();
  if (options.runs == 0) ThrowUsage("--runs 0: expected at least 1");
  CheckSameData(context, dataset);
  Job job = MakeJob(context, dataset, config);
  LogTask(job);
  PlaceJob(options.runs, job);
  std::unique_ptr<RunWriter> writer;
  std::unique_ptr<Checkpoint> checkpoint;
  if (options.write && Leads(context)) {
    writer = std::make_unique<RunWriter>(job.dataset, job.config, options);
    checkpoint = std::make_unique<Checkpoint>(job.context, writer->lock().checkpoint(), job.dataset,
                                              job.config, options);
  }
  TrainResult result = BeginResult(job.context, dataset, config, options);
  if (writer) result.run = writer->directory();
  std::unique_ptr<ProgressLog> log;
  if (writer) log = std::make_unique<ProgressLog>(result.run, dataset.name, config.method, options.runs);
  try {
    SeedLoop loop{job, options, loaded, writer.get(), checkpoint.get(), log.get(), result};
    loop.Run();
    log.reset();
    if (job.context.disk != nullptr) result.disk_json = DiskToJson(job.context.disk->Use());
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
