// l2gcn compare: methods side by side on one data set, or along a growing number of layers or nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <memory>
#include <optional>

#include "l2gcn/compare.h"
#include "l2gcn/error.h"
#include "l2gcn/generate.h"
#include "l2gcn/ranks.h"
#include "l2gcn/work_parts.h"
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
  return options;
}

// One comparison for every value of what is varied.
std::vector<Comparison> RunAll(const Context& context, const CompareArguments& arguments,
                               const std::string& keep) {
  CompareOptions options = OptionsOf(arguments);
  options.keep = keep;
  if (arguments.vary.empty()) {
    const Dataset dataset = OpenForRanks(context, arguments.data.spec, arguments.data.open);
    return {Compare(context, dataset, options)};
  }
  const auto [name, values] = ParseVary(arguments.vary);
  std::vector<Comparison> all;
  WorkParts points("point", values.size());
  if (name == "layers") {
    const Dataset dataset = OpenForRanks(context, arguments.data.spec, arguments.data.open);
    for (uint64_t layers : values) {
      CompareOptions varied = options;
      varied.overrides.emplace_back("layers", std::to_string(layers));
      all.push_back(Compare(points.Part(context, all.size()), dataset, varied));
    }
    return all;
  }
  constexpr std::string_view kSynthetic = "synthetic:";
  if (!arguments.data.spec.starts_with(kSynthetic)) {
    Refuse("--vary nodes: a stored data set has the nodes it has; use synthetic:SHAPE");
  }
  for (uint64_t nodes : values) {
    GenerateOptions generate;
    generate.shape = arguments.data.spec.substr(kSynthetic.size());
    generate.seed = arguments.data.open.synthetic_seed;
    generate.nodes = nodes;
    all.push_back(Compare(points.Part(context, all.size()), GenerateDataset(context, generate), options));
  }
  return all;
}

void RunCompare(Program& program, const CompareArguments& arguments) {
  RejectPdfOutput(arguments.output.path);
  const Context context = program.MakeCommandContext();
  const bool resume = !arguments.resume.empty();
  std::optional<ComparisonFolder> folder;
  if (program.leads() && (resume || !arguments.output.path.empty())) {
    folder.emplace(resume ? arguments.resume : arguments.output.path, arguments.output.force, resume);
  }
  const std::vector<Comparison> all = RunAll(context, arguments, folder ? folder->keep() : "");
  if (!program.leads()) return;
  std::string text, json;
  for (size_t i = 0; i < all.size(); ++i) {
    json += (i == 0 ? "" : ",\n") + ComparisonToJson(all[i]);
    if (arguments.csv) {
      const std::string csv = ComparisonToCsv(all[i]);
      text += i == 0 ? csv : csv.substr(csv.find('\n'));
    } else {
      const auto& rows = all[i].rows;
      text += (i == 0 ? "" : "\n\n") + ComparisonToText(all[i]);
      if (arguments.vary.starts_with("layers"))
        text += fmt::format("\nlayers: {}", rows.front().config.layers);
    }
  }
  if (all.size() > 1) json = "{\"comparisons\": [\n" + json + "\n]}";
  if (folder) {
    std::pair<std::string, std::vector<uint64_t>> varied;
    if (!arguments.vary.empty()) varied = ParseVary(arguments.vary);
    const std::vector<double> at(varied.second.begin(), varied.second.end());
    folder->Commit(json, text, ComparisonFigures(all, varied.first, at));
  }
  program.terminal().Print(program.json() ? json : text);
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
