// l2gcn embed: writes a layer's output for every node.
#include <fmt/format.h>

#include <memory>

#include "l2gcn/error.h"
#include "l2gcn/export.h"
#include "program.h"
#include "run_data.h"

namespace l2gcn::cli {
namespace {

struct EmbedOptions {
  RunDataOptions source;
  OutputOptions output;
  bool exact_names = false;
  uint32_t layer = 0;
};

void RunEmbed(Program& program, const EmbedOptions& options, const Command& command) {
  Require(options.source.run, "RUN", command);
  Require(options.output.path, "-o FILE", command);
  CheckExactNames(options.exact_names, options.output.path);
  const bool to_stdout = program.ChecksOutput(options.output.path);
  const Context context = program.MakeCommandContext();
  const RunData opened = OpenRunData(context, options.source, command);
  if (PrintedPlan(program, context, opened)) return;
  const Matrix embeddings = Embed(context, opened.run.model, opened.dataset, options.layer);
  if (!program.leads()) return;
  if (to_stdout) {
    return WriteEmbeddings(context, opened.dataset, embeddings, program.terminal().Sink(),
                           options.exact_names);
  }
  ExportEmbeddings(context, opened.dataset, embeddings, options.output.path, options.exact_names);
  program.ReportWritten(options.output.path, embeddings.rows, "embeddings");
}

}  // namespace

void AddEmbed(Program& program) {
  auto options = std::make_shared<EmbedOptions>();
  Command& command = program.AddCommand("embed", "Write a layer's embeddings of every node");
  program.OnRunByRanks(command, [&program, options, &command] { RunEmbed(program, *options, command); });
  options->source.AddTo(command);
  AddWhole(command, "layer", options->layer, 1, 64, "Which layer's output, from 1 [the last]");
  options->output.AddTo(command, "FILE",
                        ".npy (nodes × width) or .csv (node and one column a dimension); "
                        "-: that table on standard output",
                        "");
  AddExactNames(command, options->exact_names);
  program.AddComputeOptions(command);
  program.AddDryRun(command);
  command.Examples({"l2gcn embed my-run -o embeddings.npy"});
}

}  // namespace l2gcn::cli
