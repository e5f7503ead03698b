// l2gcn convert: any readable format to the native directory of .npy files.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "l2gcn/dataset.h"
#include "options.h"
#include "program.h"

namespace l2gcn::cli {
namespace {

struct ConvertOptions {
  DataOptions source;
  std::string target;
  bool force = false;
};

void RunConvert(Program& program, ConvertOptions& options, const CLI::App& command) {
  // With --edges there is no SRC: the one word left is DST.
  if (!options.source.open.edges.empty() && options.target.empty())
    std::swap(options.source.spec, options.target);
  if (!options.source.named()) Require("", "SRC", command);
  Require(options.target, "DST", command);
  const Context context = program.MakeCommandContext();
  const Dataset dataset = OpenDataset(context, options.source.spec, options.source.open);
  SaveDataset(context, dataset, options.target, options.force);
  program.ReportWritten(options.target, dataset.nodes(), "nodes");
}

}  // namespace

void AddConvert(Program& program) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App& command = program.AddCommand("convert", "Turn any readable data set into a native directory");
  program.OnRun(command, [&program, options, &command] { RunConvert(program, *options, command); });
  options->source.AddTo(command, "SRC", "A path, a known name or synthetic:SHAPE");
  AddPositional(command, "DST", options->target, "Directory to write");
  command.add_flag("--force", options->force, "Replace an existing data set")->group("Output");
  program.AddComputeOptions(command);
}

}  // namespace l2gcn::cli
