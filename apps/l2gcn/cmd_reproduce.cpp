// l2gcn reproduce: a table or figure of the paper, its own figures beside ours.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <memory>

#include "l2gcn/reproduce.h"
#include "options.h"
#include "program.h"

namespace l2gcn::cli {
namespace {

struct ReproduceArguments {
  ReproduceOptions options;
  uint32_t max_seconds = 0;
};

void RunReproduce(Program& program, const Command& command, const ReproduceArguments& arguments) {
  Require(arguments.options.target, "TARGET", command);
  RejectPdfOutput(arguments.options.folder);
  ReproduceOptions options = arguments.options;
  options.max_seconds = arguments.max_seconds;
  const Study study = Reproduce(program.MakeCommandContext(), options);
  if (!program.leads()) return;
  program.terminal().Print(program.json() ? study.json : study.text);
  program.terminal().Note(fmt::format("written: {}", options.folder));
}

// Options of target theorems alone.
void AddTheoremOptions(Command& command, ReproduceOptions::Theorems& options) {
  AddWhole(command, "least-nodes", options.least_nodes, 2, kMostCapacityNodes, "Smallest graphs [4]");
  AddWhole(command, "most-nodes", options.most_nodes, 2, kMostCapacityNodes,
           "Largest graphs [8; at most 6 with --quick]");
  AddWhole(command, "layers", options.layers, 1, 12, "Depths 1 … N of the networks [5]");
  command.add_option("--widths", options.widths, "Widths of the networks, separated by commas [2,8,32]")
      ->type_name("LIST")
      ->delimiter(',');
  AddWhole(command, "seeds", options.seeds, 1, 1000, "Networks of every kind [3]");
  AddWhole(command, "seed", options.seed, 0, std::numeric_limits<uint32_t>::max(), "The first seed [0]");
  command
      .add_option("--features", options.features,
                  "What nodes start with: constant, degree, separated by commas [constant,degree]")
      ->type_name("LIST")
      ->delimiter(',');
  AddChoice(command, "--activation", options.activation, {"relu", "tanh"}, "Activation of every layer");
  AddWhole(command, "steps", options.steps, 0, 100000, "Training steps of a layer or a network [40]");
  AddWhole(command, "examples", options.examples, 0, 1000, "Pairs of graphs listed where counts differ [3]");
}

}  // namespace

void AddReproduce(Program& program) {
  auto arguments = std::make_shared<ReproduceArguments>();
  arguments->options.folder = "reproduction";
  Command& command = program.AddCommand("reproduce", "Measure a table, figure or theorem of the paper");
  program.OnRunByRanks(command,
                       [&program, &command, arguments] { RunReproduce(program, command, *arguments); });
  AddPositional(command, "TARGET", arguments->options.target,
                fmt::format("{}, or all", fmt::join(ReproduceTargets(), ", ")));
  command.add_flag("--quick", arguments->options.quick,
                   "Smaller shapes, fewer epochs and seeds: minutes, not hours");
  AddWhole(command, "runs", arguments->options.runs, 1, 1000, "Seeds of every row [5; 2 with --quick]");
  command
      .add_option(
          "--sets", arguments->options.sets,
          fmt::format("Only rows of these, separated by commas: {}", fmt::join(ReproduceSets(), ", ")))
      ->type_name("LIST")
      ->delimiter(',');
  AddWhole(command, "max-seconds", arguments->max_seconds, 0, 1000000,
           "Stop a training past this many seconds of its clock, which its row then says; 0: never [0]");
  command
      .add_option("-o,--output", arguments->options.folder, "Folder for JSON and SVG files [reproduction]")
      ->type_name("DIR");
  command.add_flag("--resume", arguments->options.resume,
                   "Go on with a reproduction that was cut off: rows already measured are kept");
  command
      .add_option("--data-dir", arguments->options.open.data_dir, "Where real data sets are looked for first")
      ->type_name("DIR");
  const size_t others = command.get_options().size();
  AddTheoremOptions(command, arguments->options.theorems);
  for (size_t i = others; i < command.get_options().size(); ++i) {
    CLI::Option* option = command.get_options()[i];
    option->group("Target theorems");
    command.Advance(*option);
  }
  command.Only(
      command.Group("Target theorems"),
      [arguments] { return arguments->options.target == "theorems" || arguments->options.target == "all"; },
      "on this target; it is for theorems");
  program.AddComputeOptions(command);
}

}  // namespace l2gcn::cli
