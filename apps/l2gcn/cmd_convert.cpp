// l2gcn convert: any readable format to the native directory of .npy files, and out to what others read.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "l2gcn/convert.h"
#include "l2gcn/error.h"
#include "options.h"
#include "program.h"

namespace l2gcn::cli {
namespace {

struct ConvertArguments {
  DataOptions source;
  std::string target, to, features_as;
  bool force = false;
};

void RunConvert(Program& program, ConvertArguments& arguments, const Command& command) {
  // With tables the only positional argument is the destination.
  if (arguments.source.gives_tables() && arguments.target.empty())
    std::swap(arguments.source.spec, arguments.target);
  if (!arguments.source.gives_tables()) Require(arguments.source.spec, "SRC", command);
  Require(arguments.target, "DST", command);
  std::optional<FeatureType> type;
  if (!arguments.features_as.empty())
    type = arguments.features_as == "f16" ? FeatureType::kF16 : FeatureType::kF32;
  const Context context = program.MakeCommandContext();
  const uint64_t nodes = ConvertDataset(context, arguments.source.spec, arguments.source.open,
                                        arguments.target, arguments.to, arguments.force, type);
  program.ReportWritten(arguments.target, nodes, "nodes");
}

}  // namespace

void AddConvert(Program& program) {
  auto arguments = std::make_shared<ConvertArguments>();
  Command& command = program.AddCommand("convert", "Turn any readable data set into a native directory");
  program.OnRun(command, [&program, arguments, &command] { RunConvert(program, *arguments, command); });
  arguments->source.AddTo(command, "SRC", "A path, a known name or synthetic:SHAPE");
  AddPositional(command, "DST", arguments->target, "What to write");
  AddChoice(command, "--to", arguments->to, WrittenFormats(),
            "Format to write [by the name of DST: .npz, .csv, else native]")
      .group(kOutputGroup);
  AddChoice(command, "--features-as", arguments->features_as, {"f32", "f16"},
            "Type of dense features in the native format: f16 takes half the space [as they are]")
      .group(kOutputGroup);
  command.add_flag("--force", arguments->force, "Replace an existing data set or file")->group(kOutputGroup);
  program.AddComputeOptions(command, false);
  command.Examples({"l2gcn convert edges.csv friends"});
}

}  // namespace l2gcn::cli
