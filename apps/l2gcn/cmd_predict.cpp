// l2gcn predict: a class and its probability for every node, with ids and names as in the input.
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
};

void RunPredict(Program& program, const PredictOptions& options, const CLI::App& command) {
  Require(options.output.path, "-o FILE", command);
  CheckExportPath(options.output.path);
  const Context context = program.MakeCommandContext();
  const RunData opened = OpenRunData(context, options.source, command);
  Matrix probabilities = PredictLogits(context, opened.run.model, opened.dataset);
  LogitsToProbabilities(probabilities, opened.run.model.multilabel);
  ExportPredictions(context, opened.run.model, opened.dataset, probabilities, options.output.path);
  program.ReportWritten(options.output.path, probabilities.rows, "predictions");
}

}  // namespace

void AddPredict(Program& program) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App& command = program.AddCommand("predict", "Write a class and its probability for every node");
  program.OnRun(command, [&program, options, &command] { RunPredict(program, *options, command); });
  options->source.AddTo(command);
  options->output.AddTo(command, "FILE",
                        ".csv: node,class,probability (multi-label: node and one probability a label); .npy: "
                        "probabilities, nodes × classes",
                        "");
  program.AddComputeOptions(command);
}

}  // namespace l2gcn::cli
