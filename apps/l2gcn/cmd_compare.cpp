// l2gcn compare: methods side by side on one data set, or along a growing number of layers or nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <memory>
#include <tuple>

#include "l2gcn/compare.h"
#include "l2gcn/error.h"
#include "l2gcn/generate.h"
#include "l2gcn/ranks.h"
#include "options.h"
#include "program.h"

namespace l2gcn::cli {
namespace {

struct CompareArguments {
  DataOptions data;
  ConfigOptions config;
  std::string methods = fmt::format("{}", fmt::join(ComparedMethods(), ","));
  std::string vary, to_f1;
  uint32_t runs = 1, max_seconds = 0;
  bool csv = false;
  OutputOptions output;
  std::string resume;
};

[[noreturn]] void Refuse(const std::string& text) { throw Error(ErrorKind::kUsage, text); }

std::vector<std::string> SplitAt(const std::string& text, char separator) {
  std::vector<std::string> items;
  size_t begin = 0;
  for (size_t at = text.find(separator); at != std::string::npos; at = text.find(separator, begin)) {
    items.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  items.push_back(text.substr(begin));
  return items;
}

// "layers=1..5" or "nodes=1000,2000": the setting and its values.
std::pair<std::string, std::vector<uint64_t>> ParseVary(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (equals == std::string::npos || (name != "layers" && name != "nodes")) {
    Refuse(fmt::format("--vary {}: expected layers=1..5, layers=2,3 or nodes=10000,20000", text));
  }
  std::vector<uint64_t> values;
  const std::string list = text.substr(equals + 1);
  const size_t dots = list.find("..");
  if (dots != std::string::npos) {
    const uint64_t first = ParseWholeNumber("vary", list.substr(0, dots), 1, 64);
    const uint64_t last = ParseWholeNumber("vary", list.substr(dots + 2), first, 64);
    for (uint64_t value = first; value <= last; ++value) values.push_back(value);
    return {name, values};
  }
  for (const std::string& item : SplitAt(list, ',')) {
    values.push_back(ParseWholeNumber("vary", item, 1, name == "layers" ? 64 : uint64_t{1} << 31));
  }
  return {name, values};
}

double ParseFraction(const std::string& text) {
  double percent = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || stop != text.data() + text.size() || percent <= 0 || percent > 100) {
    Refuse(fmt::format("--to-f1 {}: expected a per cent above 0 and up to 100, or equal", text));
  }
  return percent / 100;
}

CompareOptions OptionsOf(const CompareArguments& arguments) {
  CompareOptions options;
  options.methods = SplitAt(arguments.methods, ',');
  options.runs = arguments.runs;
  options.overrides = arguments.config.overrides();
  options.max_seconds = arguments.max_seconds;
  options.equal_f1 = arguments.to_f1 == "equal";
  if (!arguments.to_f1.empty() && !options.equal_f1) options.to_f1 = ParseFraction(arguments.to_f1);
  if (!arguments.vary.empty()) std::tie(options.vary, options.values) = ParseVary(arguments.vary);
  options.resume = !arguments.resume.empty();
  options.folder = options.resume ? arguments.resume : arguments.output.path;
  options.force = arguments.output.force;
  return options;
}

void RunCompare(Program& program, const CompareArguments& arguments) {
  RejectPdfOutput(arguments.output.path);
  const Study study =
      Compare(program.MakeCommandContext(), arguments.data.spec, arguments.data.open, OptionsOf(arguments));
  if (program.leads())
    program.terminal().Print(program.json() ? study.json : arguments.csv ? study.csv : study.text);
}

}  // namespace

void AddCompare(Program& program) {
  auto arguments = std::make_shared<CompareArguments>();
  Command& command = program.AddCommand("compare", "Train several methods on the same data");
  program.OnRunByRanks(command, [&program, arguments] { RunCompare(program, *arguments); });
  arguments->data.AddTo(command, "DATASET",
                        "A path, a known name or synthetic:SHAPE; none: the embedded demo graph");
  command
      .add_option("--methods", arguments->methods,
                  fmt::format("Methods, separated by commas [{}]", fmt::join(ComparedMethods(), ", ")))
      ->type_name("LIST");
  AddWhole(command, "runs", arguments->runs, 1, 100000, "Seeds of each method: SEED, SEED+1, … [1]");
  command
      .add_option(
          "--to-f1", arguments->to_f1,
          "Time the first validation F1 of this per cent; equal: within 0.5 of the first method's final one")
      ->type_name("X|equal");
  AddWhole(command, "max-seconds", arguments->max_seconds, 0, 1000000,
           "Stop a training past this many seconds of its clock; 0: never [0]");
  command
      .add_option("--vary", arguments->vary,
                  "Growth curves: layers=1..5, or nodes=N,N,… of a generated shape")
      ->type_name("WHAT=LIST");
  command.add_flag("--csv", arguments->csv, "Print comma-separated values");
  arguments->output.AddTo(command, "DIR", "Folder for result.json, comparison.txt and figures (SVG) [none]",
                          "comparison");
  command
      .add_option(
          "--resume", arguments->resume,
          "Go on with the comparison that was to write this folder: the same command with --resume for -o")
      ->type_name("DIR")
      ->group(kOutputGroup);
  arguments->config.AddTo(command);
  program.AddComputeOptions(command);
  command.Needs({"--force"}, {"--output", "--resume"});
  command.Excludes({"--output"}, "--resume");
  command.Excludes({"--csv"}, "--json");
  const auto varies = [arguments](const char* what) { return arguments->vary.starts_with(what); };
  command.Only(
      {"--layers"}, [varies] { return !varies("layers="); }, "with --vary layers; leave one of the two out");
  command.Only(
      {"--directed", "--keep-self-loops", "--largest-component", "--min-degree", "--format"},
      [varies] { return !varies("nodes="); }, "with --vary nodes, which generates its graphs; leave it out");
}

}  // namespace l2gcn::cli
