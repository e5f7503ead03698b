// l2gcn predict: writes predictions for every node, with ids and names as in the input.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "l2gcn/export.h"
#include "program.h"
#include "run_data.h"

namespace l2gcn::cli {
namespace {

struct PredictOptions {
  RunDataOptions source;
  OutputOptions output;
  bool exact_names = false;
};

void RunPredict(Program& program, const PredictOptions& options, const Command& command) {
  Require(options.source.run, "RUN", command);
  Require(options.output.path, "-o FILE", command);
  CheckExactNames(options.exact_names, options.output.path);
  const bool to_stdout = program.ChecksOutput(options.output.path);
  const Context context = program.MakeCommandContext();
  const RunData opened = OpenRunData(context, options.source, command);
  const Model& model = opened.run.model;
  if (PrintedPlan(program, context, opened)) return;
  const Split parts = PartsOfRun(opened);
  const Matrix logits = PredictLogits(context, model, opened.dataset, &parts);
  if (!program.leads()) return;
  if (to_stdout)
    return WritePredictions(context, model, opened.dataset, logits, parts, program.terminal().Sink(),
                            options.exact_names);
  ExportPredictions(context, model, opened.dataset, logits, parts, options.output.path, options.exact_names);
  program.ReportWritten(options.output.path, opened.dataset.predicted_nodes(), "predictions");
}

}  // namespace

void AddPredict(Program& program) {
  auto options = std::make_shared<PredictOptions>();
  Command& command = program.AddCommand("predict", "Write every node's class and probabilities");
  program.OnRunByRanks(command, [&program, options, &command] { RunPredict(program, *options, command); });
  options->source.AddTo(command);
  options->output.AddTo(
      command, "FILE",
      ".csv: node,split,truth,class,probability and every class's probability (multi-label: "
      "node,split, every label's probability, labels that are on); .npy: probabilities, "
      "nodes × classes; -: the table on standard output",
      "");
  AddExactNames(command, options->exact_names);
  program.AddComputeOptions(command);
  program.AddDryRun(command);
  command.Examples({"l2gcn predict my-run -o predictions.csv",
                    "l2gcn predict my-run --edges edges.csv --nodes nodes.csv -o predictions.csv"});
}

}  // namespace l2gcn::cli
