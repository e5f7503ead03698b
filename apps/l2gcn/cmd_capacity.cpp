// l2gcn capacity: Theorems 5 and 6 measured on enumerated graphs.
#include <memory>

#include "l2gcn/capacity.h"
#include "options.h"
#include "program.h"

namespace l2gcn::cli {
namespace {

struct CapacityArguments {
  CapacityOptions options;
};

void RunCapacity(Program& program, const CapacityArguments& arguments) {
  const Context context = program.MakeCommandContext();
  const CapacityResult result = MeasureCapacity(context, arguments.options);
  program.terminal().Print(program.json() ? CapacityToJson(result) : CapacityToText(result));
}

}  // namespace

void AddCapacity(Program& program) {
  auto arguments = std::make_shared<CapacityArguments>();
  CapacityOptions& options = arguments->options;
  Command& command = program.AddCommand("capacity", "Theorems 5 and 6 measured on enumerated graphs");
  program.OnRun(command, [&program, arguments] { RunCapacity(program, *arguments); });
  AddWhole(command, "least-nodes", options.least_nodes, 2, kMostCapacityNodes, "Smallest graphs [4]");
  AddWhole(command, "most-nodes", options.most_nodes, 2, kMostCapacityNodes, "Largest graphs [8]");
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
  AddChoice(command, "--activation", options.activation, {"relu", "tanh"}, "Of every layer [relu]");
  AddWhole(command, "steps", options.steps, 0, 100000, "Training steps of a layer or a network [40]");
  AddWhole(command, "examples", options.examples, 0, 1000, "Pairs of graphs listed where counts differ [3]");
  program.AddComputeOptions(command);
}

}  // namespace l2gcn::cli
