// l2gcn report: one self-contained page about runs, comparisons or reproductions.
#include <filesystem>
#include <memory>

#include "l2gcn/error.h"
#include "l2gcn/report.h"
#include "options.h"
#include "program.h"

namespace l2gcn::cli {
namespace {

struct ReportArguments {
  std::vector<std::string> sources;
  ReportOptions options;
  std::string output = "report.html";
  bool no_data = false, no_ceilings = false;
};

void RunReportCommand(Program& program, const ReportArguments& arguments) {
  if (arguments.sources.empty()) {
    throw Error(ErrorKind::kUsage,
                "report: RUN is missing; name a directory that l2gcn train wrote; see l2gcn report --help");
  }
  RejectPdfOutput(arguments.output);
  ReportOptions options = arguments.options;
  options.open_data = !arguments.no_data;
  options.ceilings = !arguments.no_ceilings;
  const Context context = program.MakeCommandContext();
  WriteReport(context, arguments.sources, options, arguments.output);
  program.ReportWritten(arguments.output, std::filesystem::file_size(arguments.output), "bytes");
}

}  // namespace

void AddReport(Program& program) {
  auto arguments = std::make_shared<ReportArguments>();
  Command& command = program.AddCommand("report", "Write a page about runs, comparisons or reproductions");
  program.OnRun(command, [&program, arguments] { RunReportCommand(program, *arguments); });
  command.add_option("RUN", arguments->sources,
                     "Runs, files of compare --json, folders of compare or reproduce");
  command.add_option("-o,--output", arguments->output, "The page [report.html]")->type_name("FILE");
  AddWhole(command, "map-nodes", arguments->options.map_nodes, 0, 5000,
           "Nodes in the map of the embeddings; 0: no map [1000]");
  AddChoice(command, "--map", arguments->options.map, {"tsne", "pca"}, "How the map places nodes [tsne]");
  command.add_flag("--no-data", arguments->no_data,
                   "Do not open the data set: what the run's record says, alone");
  command.add_flag("--no-ceilings", arguments->no_ceilings, "Do not measure what this machine can do");
  command.add_option("--data-dir", arguments->options.data_dir, "Where data sets are looked for first")
      ->type_name("DIR");
  program.AddComputeOptions(command);
  command.Excludes({"--map-nodes", "--map", "--data-dir"}, "--no-data");
  command.Only(
      {"--map"}, [arguments] { return arguments->options.map_nodes > 0; },
      "with --map-nodes 0, which draws no map; leave one of the two out");
}

}  // namespace l2gcn::cli
