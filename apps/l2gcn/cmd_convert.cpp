// l2gcn convert: any readable format to the native directory of .npy files, and out to what others read.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "l2gcn/convert.h"
#include "l2gcn/error.h"
#include "options.h"
#include "program.h"

namespace l2gcn::cli {
namespace {

struct ConvertArguments {
  DataOptions source;
  std::string target;
  std::string memory;
  ConvertOptions options;
};

// "512M", "1G", "2.5G" or plain bytes.
uint64_t ParseBytes(const std::string& text) {
  size_t used = 0;
  double value = -1;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const std::string unit = text.substr(used);
  double scale = 0;
  if (unit.empty()) scale = 1;
  if (unit == "K" || unit == "k") scale = 1024.0;
  if (unit == "M" || unit == "m") scale = 1024.0 * 1024;
  if (unit == "G" || unit == "g") scale = 1024.0 * 1024 * 1024;
  if (used == 0 || scale == 0 || !(value > 0) || value * scale > 1e18) {
    throw Error(ErrorKind::kUsage, fmt::format("--memory {}: expected a size such as 512M or 4G", text));
  }
  return static_cast<uint64_t>(value * scale);
}

void RunConvert(Program& program, ConvertArguments& arguments, const CLI::App& command) {
  // With --edges the only positional argument is the destination.
  if (!arguments.source.open.edges.empty() && arguments.target.empty())
    std::swap(arguments.source.spec, arguments.target);
  if (arguments.source.open.edges.empty()) Require(arguments.source.spec, "SRC", command);
  Require(arguments.target, "DST", command);
  if (!arguments.memory.empty()) arguments.options.memory = ParseBytes(arguments.memory);
  const Context context = program.MakeCommandContext();
  const uint64_t nodes = ConvertDataset(context, arguments.source.spec, arguments.source.open,
                                        arguments.target, arguments.options);
  program.ReportWritten(arguments.target, nodes, "nodes");
}

}  // namespace

void AddConvert(Program& program) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App& command = program.AddCommand("convert", "Turn any readable data set into a native directory");
  program.OnRun(command, [&program, arguments, &command] { RunConvert(program, *arguments, command); });
  arguments->source.AddTo(command, "SRC", "A path, a known name or synthetic:SHAPE");
  AddPositional(command, "DST", arguments->target, "What to write");
  AddChoice(command, "--to", arguments->options.to, {"native", "npz", "graphbolt", "csv"},
            "Format to write [by the name of DST: .npz, .csv, else native]")
      .group("Output");
  command.add_option("--memory", arguments->memory, "Most memory for an edge list in text [1G]")
      ->type_name("SIZE")
      ->group("Output");
  command.add_flag("--force", arguments->options.force, "Replace an existing data set or file")
      ->group("Output");
  program.AddComputeOptions(command);
}

}  // namespace l2gcn::cli
