// l2gcn train: opens a data set, trains and evaluates every seed, writes the run, and prints the result.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "help.h"
#include "l2gcn/ceilings.h"
#include "l2gcn/error.h"
#include "l2gcn/plan.h"
#include "l2gcn/ranks.h"
#include "l2gcn/report.h"
#include "l2gcn/tensorboard.h"
#include "l2gcn/train.h"
#include "options.h"
#include "program.h"
#include "result_text.h"

namespace l2gcn::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TrainOptions {
  DataOptions data;
  ConfigOptions config;
  OutputOptions output;
  std::string settings;  // file of --config
  Overrides run;         // of RunFields()
  std::string resume;
  bool profile = false;
  bool report = false;
  std::string tensorboard;
};

std::string SecondsLine(const Json& seconds) {
  const auto of = [&](const char* phase) { return seconds.at(phase).get<double>(); };
  const double choose = seconds.value("choose", 0.0);
  const double validate = of(seconds.contains("looks") ? "looks" : "validate");  // `looks`: earlier versions
  return fmt::format(
      "{:.3f} (aggregate {:.3f} + train {:.3f} + transform {:.3f}); "
      "load {:.3f}, {}setup {:.3f}, {}evaluate {:.3f}, total {:.3f}",
      of("aggregate") + of("train") + of("transform"), of("aggregate"), of("train"), of("transform"),
      of("load"), choose > 0 ? fmt::format("choose {:.3f}, ", choose) : "", of("setup"),
      validate > 0 ? fmt::format("validate {:.3f}, ", validate) : "", of("evaluate"), of("total"));
}

// The architecture that trials chose; with several seeds how often each was. Runs of earlier versions have no trials.
std::string TrialsText(const Json& result) {
  std::map<std::string, uint32_t> chosen;
  for (const Json& run : result.at("runs")) {
    for (const Json& trial : run.value("trials", Json::array())) {
      if (!trial.at("chosen").get<bool>()) continue;
      const auto adjacency = trial.at("adjacency").get<std::vector<std::string>>();
      const auto relations = trial.value("relations", std::vector<std::string>());
      ++chosen[fmt::format("{}adjacency {}, hidden-norm {}",
                           relations.empty() ? "" : fmt::format("relations {}, ", fmt::join(relations, ",")),
                           fmt::join(adjacency, ","), trial.at("hidden_norm").get<std::string>())];
    }
  }
  std::string text;
  for (const auto& [architecture, seeds] : chosen) {
    text += fmt::format(
        "{}{}{}", text.empty() ? "; by trial " : " or ", architecture,
        chosen.size() > 1 ? fmt::format(" ({} of {} seeds)", seeds, result.at("runs").size()) : "");
  }
  return text;
}

// What the user left to the program, in one line.
std::string ChosenText(const Json& result, const TrainConfig& config) {
  const auto text = [&](const char* name) { return FindField(name).get(config); };
  return fmt::format("preset {}, stop {}, lr {}, epochs {}{}", text("preset"), text("stop"), text("lr"),
                     EpochsText(result), TrialsText(result));
}

// On the test nodes, or the validation nodes where there is none. Runs of earlier versions did not store it.
bool BeatsBaseline(const Json& result) {
  if (!result.contains("baseline")) return true;
  const Json& scores = result.at(IsRegression(result) ? "r2" : "f1");
  const Json& baselines = IsRegression(result) ? result.at("baseline").at("r2") : result.at("baseline");
  const char* part = scores.at("test").is_null() ? "val" : "test";
  const Json &score = scores.at(part), &baseline = baselines.at(part);
  return score.is_null() || baseline.is_null() || score.get<double>() > baseline.get<double>();
}

// The result first, then what was chosen, and what to type next; from the object that --json prints.
std::string Summary(const Json& result, const TrainConfig& config) {
  const size_t runs = result.at("runs").size();
  const std::string run = result.at("run").get<std::string>();
  std::string text = fmt::format("{} · {}{}\n", result.at("dataset").at("name").get<std::string>(),
                                 result.at("method").get<std::string>(),
                                 runs == 1 ? "" : fmt::format(" · mean of {} seeds", runs));
  text +=
      fmt::format("  {}  {}\n", IsRegression(result) ? "R²           " : "F1 (micro, %)", ScoreText(result));
  text += fmt::format("  baseline       {}{}\n", BaselineText(result),
                      BeatsBaseline(result) ? "" : "; not beaten, --verbose has advice");
  text += fmt::format("  chosen         {}\n", ChosenText(result, config));
  text += fmt::format("  run            {}\n", run);
  return text + fmt::format(
                    "  next           l2gcn predict {0} -o predictions.csv\n"
                    "                 l2gcn report {0}",
                    run);
}

// What --verbose adds: where the result comes from, and what it cost.
std::string Details(const Json& result) {
  const size_t runs = result.at("runs").size();
  std::string text = fmt::format("{}, {}, {}\n",
                                 runs == 1 ? fmt::format("seed {}", result.at("seed").get<uint64_t>())
                                           : fmt::format("means of {} seeds", runs),
                                 result.at("device").get<std::string>(),
                                 Counted(result.at("threads").get<uint32_t>(), "thread"));
  text += fmt::format("  split          {}\n", SplitText(result));
  text += fmt::format("  seconds        {}\n", SecondsLine(result.at("seconds")));
  text += fmt::format("  peak memory    {}", Bytes(result.at("memory").at("peak_rss_bytes").get<uint64_t>()));
  const auto device_bytes = result.at("memory").at("peak_device_bytes").get<uint64_t>();
  if (device_bytes > 0) text += fmt::format(", device {}", Bytes(device_bytes));
  return text;
}

// A rate and its share of the ceiling; a dash where there is no rate, no share where there is no ceiling.
std::string Rate(double amount, double seconds, double ceiling) {
  if (amount <= 0 || seconds <= 0) return "–";
  const double rate = amount / seconds / 1e9;
  return ceiling > 0 ? fmt::format("{:.1f} ({:.0f} %)", rate, 100 * rate / ceiling)
                     : fmt::format("{:.1f}", rate);
}

// What a run from disk moved, and the share of the disk's rate that aggregation had; nothing for a run in memory.
std::string DiskProfile(const Json& result) {
  const auto found = result.find("disk");
  if (found == result.end()) return "";
  const auto of = [&](const char* name) { return found->at(name).get<double>(); };
  const double seconds = of("panel_seconds"), read = of("panel_read_bytes"),
               written = of("panel_written_bytes");
  const bool known = seconds > 0 && of("read_rate") > 0 && of("write_rate") > 0;
  const double share = known ? (read / of("read_rate") + written / of("write_rate")) / seconds : 0;
  return fmt::format(
      "disk: {:.2f} GB read, {:.2f} written; {} aggregated in {:.2f} s: {:.2f} GB read, {:.2f} written, "
      "{:.0f} % of what the disk can do ({:.2f} and {:.2f} GB/s)\n",
      of("read_bytes") / 1e9, of("written_bytes") / 1e9,
      Counted(found->at("panels").get<uint64_t>(), "panel"), seconds, read / 1e9, written / 1e9, 100 * share,
      of("read_rate") / 1e9, of("write_rate") / 1e9);
}

// Where a run's time went, layer by layer, and how near that is to what the machine can do.
std::string Profile(const Context& context, const TrainResult& result, const Json& shown) {
  const bool on_cpu = result.device == DeviceName(DeviceKind::kCpu);
  const double gflops = on_cpu ? MeasureProduct(context) : 0, copied = on_cpu ? MeasureCopy(context) : 0;
  std::string text;
  if (on_cpu) {
    text = fmt::format("this machine at best, {}: {:.0f} GFLOP/s in cache, {:.1f} GB/s copied\n",
                       Counted(result.threads, "thread"), gflops, copied);
  }
  text += fmt::format("{:>6} {:>6} {:>7} {:>8} {:>11} {:>15} {:>11} {:>15} {:>11}  {}\n", "seed", "layer",
                      "epochs", "input", "aggregate s", "GB/s gathered", "train s", "GFLOP/s", "transform s",
                      "ended by");
  for (const SeedResult& seed : result.seeds) {
    for (size_t l = 0; l < seed.layers.size(); ++l) {
      const SeedResult::Layer& layer = seed.layers[l];
      text += fmt::format(
          "{:>6} {:>6} {:>7} {:>8} {:>11.4f} {:>15} {:>11.4f} {:>15} {:>11.4f}  {}\n", seed.seed, l + 1,
          layer.epochs, layer.sparse_input ? "sparse" : "dense", layer.aggregate_seconds,
          Rate(layer.gathered_bytes, layer.aggregate_seconds, copied), layer.train_seconds,
          Rate(layer.flops, layer.train_seconds, gflops), layer.transform_seconds, layer.stopped_by);
    }
  }
  text += DiskProfile(shown);
  if (result.snapshots == 0) {
    text.pop_back();
    return text;
  }
  double trained = 0;
  for (const SeedResult& seed : result.seeds) trained += seed.seconds.train;
  return text + fmt::format("checkpoints: {}, {}, {:.3f} s, {:.2f} % of the training's seconds",
                            result.snapshots, Bytes(result.snapshot_bytes), result.snapshot_seconds,
                            100 * result.snapshot_seconds / std::max(trained, 1e-9));
}

// What the command line says of a new training.
RunOptions NewRun(const TrainOptions& options, const Overrides& overrides, const Overrides& machine) {
  RunOptions run;
  run.machine = machine;
  run.output = options.output.path;
  run.force = options.output.force;
  run.dataset_spec = options.data.spec;
  run.open_options = options.data.open;
  run.overrides = overrides;
  for (const auto& [name, value] : overrides) {
    if (name == "split") KeepSplitColumn(value, run.open_options);
  }
  SetFields(RunFields(), options.run, run);
  if (!run.output.empty()) run.lock = LockRun(run);
  return run;
}

// What an unfinished run says of itself; the command line may repeat it, and must not contradict.
RunOptions OldRun(const TrainOptions& options, RunOptions run) {
  const auto refuse = [&](const std::string& what, const std::string& before, const std::string& now) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format(
            "--resume {}: was begun with {} {}, not {}; leave it out, or start anew with -o and --force",
            options.resume, what, before, now));
  };
  std::string spec = options.data.spec;
  OpenOptions open = options.data.open;
  MakePathsAbsolute(spec, open);
  if (options.data.named() && spec != run.dataset_spec) refuse("data set", run.dataset_spec, spec);
  const uint32_t runs = run.runs;
  SetFields(RunFields(), options.run, run);
  if (run.runs != runs) refuse("--runs", std::to_string(runs), std::to_string(run.runs));
  return run;
}

// Settings given beside --resume must be those the run was begun with.
void RefuseOtherSettings(const TrainOptions& options, const TrainConfig& config) {
  for (const auto& [name, value] : options.config.overrides()) {
    const Field& field = FindField(name);
    TrainConfig asked = config;
    field.set(asked, value);
    if (field.get(asked) == field.get(config)) continue;
    throw Error(
        ErrorKind::kUsage,
        fmt::format(
            "--resume {}: was begun with --{} {}, not {}; leave it out, or start anew with -o and --force",
            options.resume, name, field.get(config), value));
  }
}

// What --config brings where the user named nothing else: settings under the flags, and the data set.
Overrides WithStored(TrainOptions& options) {
  const Overrides& flags = options.config.overrides();
  if (options.settings.empty()) return flags;
  RunOptions stored;
  const bool names_data = ReadSettings(options.settings, stored);
  if (!options.data.named() && names_data) {
    const std::string data_dir = options.data.open.data_dir;
    options.data.spec = stored.dataset_spec;
    options.data.open = stored.open_options;
    if (!data_dir.empty()) options.data.open.data_dir = data_dir;
  } else if (!options.data.named()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--config {}: no result.json beside it says which data set; name "
                            "one: l2gcn train DATASET --config FILE",
                            options.settings));
  }
  return JoinOverrides(stored.overrides, flags);
}

// What is to be trained, on rank 0; others, and a run that is finished already, have no seeds.
RunOptions BegunRun(Program& program, const TrainOptions& options, const Overrides& overrides) {
  RunOptions none;
  none.runs = 0;
  if (!program.leads()) return none;
  if (options.resume.empty()) return NewRun(options, overrides, program.machine());
  RunOptions unfinished = ResumeRun(options.resume, options.output.force);
  if (unfinished.lock != nullptr) return OldRun(options, std::move(unfinished));
  program.terminal().Note(options.resume + ": was finished already");
  const std::string json = ReadRunResult(unfinished.output);
  const Json result = ParseJson(json, unfinished.output + "/result.json");
  program.terminal().Print(program.json() ? json : Summary(result, OpenRun(unfinished.output).model.config));
  return none;
}

void RunTrain(Program& program, TrainOptions options) {
  const Overrides overrides = WithStored(options);
  RunOptions run = BegunRun(program, options, overrides);
  ShareRunOptions(program.ranks(), run);
  if (run.runs == 0) return;  // it was finished already
  program.UseStoredMachine(run.machine);
  Context context = program.BeginCommandContext();
  const auto start = std::chrono::steady_clock::now();
  ReportOptions report;
  const Dataset dataset =
      OpenForRanks(CollectingNotes(context, report.notes), run.dataset_spec, run.open_options);
  run.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  program.FinishCommandContext(context);
  if (!program.verbose())
    context.on_note = nullptr;  // what was made of the data is always told, choices on request
  const TrainConfig config = ResolveConfig(run.overrides, dataset);
  if (!options.resume.empty()) RefuseOtherSettings(options, config);
  if (program.PrintedPlan(
          [&](bool as_json) { return TrainingPlan(context, dataset, config, run.runs, as_json); }))
    return;
  if (!options.tensorboard.empty() && program.leads())
    LogToTensorBoard(options.tensorboard, config.seed, dataset, context, run);
  const TrainResult result = RunTraining(context, dataset, config, run);
  if (!program.leads()) return;
  if (options.report) WriteReport(context, {result.run}, report, result.run + "/report.html", &dataset);
  const std::string json = ResultToJson(result);
  Terminal& terminal = program.terminal();
  const Json shown = ParseJson(json, result.run);
  if (options.profile) terminal.ShowAlways(Profile(context, result, shown));
  if (program.verbose()) terminal.ShowAlways(Details(shown));
  terminal.Print(program.json() ? json : Summary(shown, config));
}

}  // namespace

void AddTrain(Program& program) {
  auto options = std::make_shared<TrainOptions>();
  Command& command = program.AddCommand("train", "Train a model layer by layer, evaluate it and write a run");
  program.OnRunByRanks(command, [&program, options] { RunTrain(program, *options); });
  program.AddVerbose(command);
  options->data.AddTo(
      command, "DATASET",
      "A path, a known name (see l2gcn info) or synthetic:SHAPE; none: the embedded demo graph");
  options->config.AddTo(command);
  command
      .add_option("--config", options->settings,
                  "Settings from a run's config.json, with its data set where none is named, or from a JSON "
                  "object such as {\"epochs\": 5}; flags override")
      ->type_name("FILE")
      ->group("General");
  options->output.AddTo(command, "RUN", "Run directory [runs/DATASET-METHOD-NNN]", "run");
  AddKeptFields(command, RunFields(), RunOptions{}, options->run);
  command
      .add_option(
          "--resume", options->resume,
          "Go on with a run that was cut off; data set, settings and machine options need not be repeated")
      ->type_name("RUN")
      ->group(kOutputGroup);
  command
      .add_flag("--profile", options->profile,
                "Show where each layer's time went and its share of what the machine can do")
      ->group(kOutputGroup);
  command.add_flag("--report", options->report, "Write RUN/report.html, a page about the run, at the end")
      ->group(kOutputGroup);
  command
      .add_option("--tensorboard", options->tensorboard,
                  "Write event files for TensorBoard into this folder while training")
      ->type_name("DIR")
      ->group(kOutputGroup);
  for (const char* name : {"--config", "--force", "--resume", "--profile", "--report", "--tensorboard"})
    command.Advance(*command.get_option(name));
  program.AddComputeOptions(command);
  program.AddDryRun(command);
  command.Needs({"--force"}, {"--output", "--resume"});
  for (const char* group : {kDataGroup, kTablesGroup}) command.Excludes(command.Group(group), "--resume");
  command.Excludes({"--output", "--config"}, "--resume");
  command.Examples({"l2gcn train --edges edges.csv --nodes nodes.csv --label topic",
                    "l2gcn train cora --preset paper --method l2gcn --runs 5"});
  std::string methods = "Methods:\n";
  for (const auto& [name, sentence] : DescribeMethods()) methods += Wrapped("  " + name, sentence, 18);
  command.footer(methods +
                 "\nDefaults shown are those of a small data set. Preset best chooses them from the\n"
                 "data; 'l2gcn info DATASET' shows what would be used.\n");
}

}  // namespace l2gcn::cli
