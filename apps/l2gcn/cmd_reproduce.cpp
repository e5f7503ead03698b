// l2gcn reproduce: a table or figure of the paper, its own figures beside ours.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "l2gcn/reproduce.h"
#include "options.h"
#include "program.h"

namespace l2gcn::cli {
namespace {

struct ReproduceArguments {
  ReproduceOptions options;
  uint32_t max_seconds = 0;
  std::string output = "reproduction";
  bool resume = false;
};

void RunReproduce(Program& program, const CLI::App& command, const ReproduceArguments& arguments) {
  Require(arguments.options.target, "TARGET", command);
  ReproduceOptions options = arguments.options;
  options.max_seconds = arguments.max_seconds;
  CheckReproduction(options);
  const Context context = program.MakeCommandContext();
  if (program.leads()) options.keep = BeginReproduction(options.target, arguments.output, arguments.resume);
  const Reproduction result = Reproduce(context, options);
  if (!program.leads()) return;
  WriteReproduction(result, arguments.options.target, arguments.output);
  program.terminal().Print(program.json() ? result.json : result.text);
  program.terminal().Note(fmt::format("written: {}", arguments.output));
}

}  // namespace

void AddReproduce(Program& program) {
  auto arguments = std::make_shared<ReproduceArguments>();
  Command& command =
      program.AddCommand("reproduce", "A table or figure of the paper, its figures beside ours");
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
  command.add_option("-o,--output", arguments->output, "Folder for JSON, SVG and PDF files [reproduction]")
      ->type_name("DIR");
  command.add_flag("--resume", arguments->resume,
                   "Go on with a reproduction that was cut off: rows already measured are kept");
  command
      .add_option("--data-dir", arguments->options.open.data_dir, "Where real data sets are looked for first")
      ->type_name("DIR");
  program.AddComputeOptions(command);
}

}  // namespace l2gcn::cli
