// l2gcn generate: a synthetic graph of a known shape, streamed to a native directory.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <memory>

#include "l2gcn/error.h"
#include "l2gcn/generate.h"
#include "options.h"
#include "program.h"

namespace l2gcn::cli {
namespace {

struct GenerateCommandOptions {
  GenerateOptions generate;
  OutputOptions output;
  std::string features_as = "f32";
};

void RunGenerate(Program& program, const GenerateCommandOptions& options, const Command& command) {
  Require(options.generate.shape, "SHAPE", command);
  Require(options.output.path, "-o DIR", command);
  const Context context = program.MakeCommandContext();
  GenerateOptions generate = options.generate;
  if (options.features_as == "f16") generate.features_as = FeatureType::kF16;
  GenerateToDirectory(context, generate, options.output.path, options.output.force);
  program.ReportWritten(options.output.path, 0, "");
}

}  // namespace

void AddGenerate(Program& program) {
  auto options = std::make_shared<GenerateCommandOptions>();
  GenerateOptions& generate = options->generate;
  generate.shape.clear();
  Command& command = program.AddCommand("generate", "Write a synthetic graph of a known shape");
  program.OnRun(command, [&program, options, &command] { RunGenerate(program, *options, command); });
  AddPositional(command, "SHAPE", generate.shape,
                fmt::format("One of {}", fmt::join(GeneratorShapes(), ", ")));
  constexpr uint64_t kMaxCount = std::numeric_limits<uint32_t>::max();
  constexpr uint64_t kMaxNumber = std::numeric_limits<uint64_t>::max();
  AddWhole(command, "nodes", generate.nodes, 1, kMaxCount, "Nodes [the shape's]");
  AddWhole(command, "edges", generate.edges, 1, kMaxNumber, "Undirected edges [the shape's]");
  AddWhole(command, "features", generate.features, 1, kMaxCount, "Feature columns [the shape's]");
  AddWhole(command, "classes", generate.classes, 1, kMaxCount, "Classes [the shape's]");
  AddWhole(command, "topics", generate.topics, 1, kMaxCount,
           "Communities of each class, with features of their own; many make classes slow to learn [1]");
  AddWhole(command, "edge-types", generate.edge_types, 1, 32,
           "Edge types, of which the first decides a node's label [1]");
  command.add_flag("--directed", generate.directed,
                   "Directed edges; a node's label is what the edges that leave it lead to");
  AddChoice(command, "--features-as", options->features_as, {"f32", "f16"},
            "Type of dense features: f16 takes half the space [f32]");
  AddNumber(command, "scale", generate.scale, "Multiplies nodes and edges [1]");
  AddNumber(command, "skew", generate.skew, "Each class has so many times the nodes of the next one [1]");
  AddNumber(command, "homophily", generate.homophily, "Share of edges drawn inside a class [the shape's]");
  AddNumber(command, "signal", generate.signal,
            "How far features give the class away: length of its mean, or share of words on its topic [the "
            "shape's]");
  AddNumber(command, "label-noise", generate.label_noise, "Share of labels replaced at random [the shape's]");
  command.add_flag("--regression", generate.regression,
                   "A number to predict in place of classes, by own and neighbours' features");
  AddWhole(command, "seed", generate.seed, 0, kMaxNumber, "Everything drawn follows from it [0]");
  options->output.AddTo(command, "DIR", "Directory to write", "data set");
  program.AddComputeOptions(command, false);
}

}  // namespace l2gcn::cli
