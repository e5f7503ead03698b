// l2gcn train: open a data set, train every seed, evaluate, write the run, say how it went.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

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
  uint32_t runs = 1;
  bool profile = false;
};

std::string SecondsLine(const Json& seconds) {
  const auto of = [&](const char* phase) { return seconds.at(phase).get<double>(); };
  return fmt::format(
      "{:.3f} (aggregate {:.3f} + train {:.3f} + transform {:.3f}); "
      "load {:.3f}, setup {:.3f}, evaluate {:.3f}, total {:.3f}",
      of("aggregate") + of("train") + of("transform"), of("aggregate"), of("train"), of("transform"),
      of("load"), of("setup"), of("evaluate"), of("total"));
}

// The result as people read it, from the object that --json prints.
std::string Summary(const Json& result) {
  const Json& dataset = result.at("dataset");
  const size_t runs = result.at("runs").size();
  std::string text =
      fmt::format("{} · {} · {} · {}, {} threads\n", dataset.at("name").get<std::string>(),
                  result.at("method").get<std::string>(),
                  runs == 1 ? fmt::format("seed {}", result.at("seed").get<uint64_t>())
                            : fmt::format("means of {} runs", runs),
                  result.at("device").get<std::string>(), result.at("threads").get<uint32_t>());
  text += fmt::format("  F1 (micro, %)  {}\n", F1Text(result));
  text += fmt::format("  epochs         {}\n", EpochsText(result));
  text += fmt::format("  seconds        {}\n", SecondsLine(result.at("seconds")));
  text += fmt::format("  peak memory    {}", Bytes(result.at("memory").at("peak_rss_bytes").get<uint64_t>()));
  const auto device_bytes = result.at("memory").at("peak_device_bytes").get<uint64_t>();
  if (device_bytes > 0) text += fmt::format(", device {}", Bytes(device_bytes));
  return text + fmt::format("\n  run            {}", result.at("run").get<std::string>());
}

// Where a run's time went, layer by layer.
std::string Profile(const TrainResult& result) {
  std::string text =
      fmt::format("{:>6} {:>6} {:>7} {:>8} {:>11} {:>11} {:>11} {:>10}  {}\n", "seed", "layer", "epochs",
                  "input", "aggregate s", "train s", "transform s", "GFLOP/s", "ended by");
  for (const SeedResult& seed : result.seeds) {
    for (size_t l = 0; l < seed.layers.size(); ++l) {
      const LayerRecord& layer = seed.layers[l];
      const double rate = layer.train_seconds > 0 ? layer.flops / layer.train_seconds / 1e9 : 0;
      text +=
          fmt::format("{:>6} {:>6} {:>7} {:>8} {:>11.4f} {:>11.4f} {:>11.4f} {:>10.1f}  {}\n", seed.seed,
                      l + 1, layer.epochs, layer.sparse_input ? "sparse" : "dense", layer.aggregate_seconds,
                      layer.train_seconds, layer.transform_seconds, rate, layer.stopped_by);
    }
  }
  text.pop_back();
  return text;
}

void RunTrain(Program& program, const TrainOptions& options) {
  const Context context = program.MakeCommandContext();
  const auto start = std::chrono::steady_clock::now();
  const Dataset dataset = OpenDataset(context, options.data.spec, options.data.open);
  RunOptions run;
  run.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  run.output = options.output.path;
  run.force = options.output.force;
  run.runs = options.runs;
  run.dataset_spec = options.data.spec;
  run.open_options = options.data.open;
  const TrainConfig config = ResolveConfig(options.config.overrides(), dataset);
  const TrainResult result = RunTraining(context, dataset, config, run);
  const std::string json = ResultToJson(result);
  Terminal& terminal = program.terminal();
  if (options.profile) terminal.Complain(Profile(result));
  terminal.Print(program.json() ? json : Summary(Json::parse(json)));
}

}  // namespace

void AddTrain(Program& program) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App& command = program.AddCommand("train", "Train, evaluate, write the run");
  program.OnRun(command, [&program, options] { RunTrain(program, *options); });
  options->data.AddTo(
      command, "DATASET",
      "A path, a known name (l2gcn datasets) or synthetic:SHAPE; none: the embedded demo graph");
  options->config.AddTo(command);
  options->output.AddTo(command, "RUN", "Run directory [runs/DATASET-METHOD-NNN]", "run");
  AddWhole(command, "runs", options->runs, 1, 100000, "Train this many seeds: SEED, SEED+1, … [1]")
      .group("Training");
  command.add_flag("--profile", options->profile, "Show where each layer's time went")->group("Output");
  program.AddComputeOptions(command);
  command.footer(
      "Defaults shown are those of data sets the paper does not treat; cora, citeseer, pubmed, ppi, reddit "
      "and\n"
      "amazon take the paper's own settings (l2gcn info DATASET shows them).\n");
}

}  // namespace l2gcn::cli
