#include "options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "l2gcn/error.h"

namespace l2gcn::cli {

void Command::Needs(const std::vector<std::string>& options, const std::vector<std::string>& others) {
  const auto given = [this, others] {
    return std::any_of(others.begin(), others.end(),
                       [this](const std::string& one) { return count(one) > 0; });
  };
  const std::string names = fmt::format("{}", fmt::join(others, " or "));
  Only(options, given, fmt::format("without {0}; give {0}, too, or leave it out", names));
}

void Command::Excludes(const std::vector<std::string>& options, const std::string& other) {
  Only(
      options, [this, other] { return count(other) == 0; },
      fmt::format("with {}; leave one of the two out", other));
}

void Command::Only(const std::vector<std::string>& options, std::function<bool()> holds,
                   const std::string& reason) {
  for (const std::string& name : options) rules_.push_back({get_option(name), holds, reason});
}

std::vector<std::string> Command::Group(const std::string& name) const {
  std::vector<std::string> names;
  for (const CLI::Option* option : get_options()) {
    if (option->get_group() == name) names.push_back(option->get_name());
  }
  return names;
}

void Command::CheckEffects() const {
  for (const CLI::Option* option : get_options()) {
    const std::vector<std::string>& values = option->results();
    if (std::find(values.begin(), values.end(), "") != values.end())
      throw Error(ErrorKind::kUsage,
                  fmt::format("{} is empty; give it a value or leave it out", option->get_name()));
  }
  for (const Rule& rule : rules_) {
    if (rule.option->count() == 0 || rule.holds()) continue;
    throw Error(ErrorKind::kUsage, fmt::format("{} has no effect {}", rule.option->get_name(), rule.reason));
  }
}

CLI::Option& AddChoice(CLI::App& command, const std::string& name, std::string& value,
                       const std::vector<std::string>& choices, const std::string& help) {
  const auto choose = [&value, name, choices](const std::string& word) {
    if (std::find(choices.begin(), choices.end(), word) == choices.end()) {
      throw Error(ErrorKind::kUsage, fmt::format("{} {}: did you mean '{}'? Valid: {}", name, word,
                                                 NearestName(word, choices), fmt::join(choices, ", ")));
    }
    value = word;
  };
  return *command.add_option_function<std::string>(name, choose, help)
              ->type_name(fmt::format("{}", fmt::join(choices, "|")))
              ->default_str(value)
              ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

CLI::Option& AddPositional(CLI::App& command, const std::string& name, std::string& value,
                           const std::string& help) {
  return *command.add_option(name, value, help)->type_name("");
}

void Require(const std::string& value, const std::string& name, const Command& command) {
  if (!value.empty()) return;
  const std::string example =
      command.examples().empty() ? "" : fmt::format(", as in '{}'", command.examples().front());
  throw Error(ErrorKind::kUsage,
              fmt::format("{} is missing{}; see l2gcn {} --help", name, example, command.get_name()));
}

std::vector<std::string> TopExamples() {
  return {"l2gcn train --edges edges.csv --nodes nodes.csv --label topic",
          "l2gcn predict runs/edges-layerwise-001 -o predictions.csv"};
}

namespace {

// FILE, or NAME=FILE for one of several tables. A file of the whole name wins.
void TakeTable(const std::string& option, const std::string& value, std::string& alone,
               std::vector<OpenOptions::Table>& several) {
  const size_t equals = value.find('=');
  std::error_code error;
  if (equals != std::string::npos && !std::filesystem::exists(value, error)) {
    several.push_back({value.substr(0, equals), value.substr(equals + 1)});
    if (several.back().path.empty())
      throw Error(ErrorKind::kUsage, fmt::format("{} {}: the file is missing behind =", option, value));
  } else if (alone.empty()) {
    alone = value;
  } else {
    throw Error(ErrorKind::kUsage,
                fmt::format("{0} {1} and {0} {2}: of several tables each has a name: {0} NAME=FILE", option,
                            alone, value));
  }
}

}  // namespace

void DataOptions::AddTo(Command& command, const std::string& name, const std::string& help) {
  AddPositional(command, name, spec, help);
  AddOpenOptions(command, open);
  const auto add_file = [&](const char* name, std::string& value, const char* placeholder, const char* help) {
    CLI::Option* option = command.add_option(name, value, help)->type_name(placeholder)->group(kTablesGroup);
    const std::string_view flag = name;
    if (flag != "--edges" && flag != "--nodes" && flag != "--label") command.Advance(*option);
    return option;
  };
  const auto add_tables = [&](const char* name, std::string& alone, std::vector<OpenOptions::Table>& several,
                              const char* placeholder, const char* help) {
    const auto take = [name, &alone, &several](const std::vector<std::string>& values) {
      for (const std::string& value : values) TakeTable(name, value, alone, several);
    };
    command.add_option_function<std::vector<std::string>>(name, take, help)
        ->allow_extra_args(false)
        ->type_name(placeholder)
        ->group(kTablesGroup);
  };
  add_tables("--edges", open.edges, open.edge_tables, "[A:NAME:B=]FILE",
             "Edges: two ids a line; or a table for each relation");
  add_tables("--nodes", open.nodes, open.node_tables, "[TYPE=]FILE",
             "Nodes: id, features, label; or a table for each type");
  add_file("--label", open.label_column, "[TYPE:]COLUMN", "Label column; A,B: targets; or none [the last]");
  command.Advance(*command
                       .add_option("--task", open.task,
                                   "What labels are: classes, or numbers to predict [by their values]")
                       ->type_name("NAME")
                       ->check(CLI::IsMember({"classification", "regression"}))
                       ->group(kTablesGroup));
  add_file("--sample-weight", open.sample_weight_column, "COLUMN",
           "Column of the node table with weights of nodes in the loss of a regression");
  add_file("--schema", open.schema, "FILE",
           "YAML or JSON file that names the tables of several types of nodes: nodes, edges, label");
  add_file("--features", open.features, "FILE", "Features: table, .npy, .npz, svmlight or JSON");
  add_file("--labels", open.labels, "FILE", "Labels: table or .npy");
  add_file("--source", open.source_column, "COLUMN",
           "Column of the edge list an edge starts from [by its header, else the first]");
  add_file("--target", open.target_column, "COLUMN",
           "Column of the edge list an edge ends at [by its header, else the second]");
  add_file("--weight", open.weight_column, "COLUMN",
           "Column of the edge list with weights, or none [weight, else the third]; several columns, "
           "--weight A --weight B, are one relation each")
      ->join(',');
  add_file("--edge-type", open.edge_type_column, "COLUMN",
           "Column of the edge list with edge types, which are one relation each");
  add_file("--edge-features", open.edge_features, "COLUMN,…",
           "Columns of the edge list that become features of its nodes, or all [none]");
  add_file("--id", open.id_column, "COLUMN",
           "Id column of the node, feature and label tables; of several TYPE:COLUMN,… [id, else the first]");
  add_file("--missing", open.missing, "WORD,…",
           "Words in the tables that mean no value, whatever their case, beside NA, null, ?, …");
  command.Advance(*command.add_flag("--no-ids", open.no_ids, "Row k of features and labels is node k")
                       ->group(kTablesGroup));
  command.Advance(
      *command
           .add_flag("--allow-unmatched", open.allow_unmatched,
                     "Go on although more than a tenth of the edges' ids have no row, if some have one, and "
                     "without edges of types that a model does not know")
           ->group(kTablesGroup));
  command.Needs({"--nodes", "--features", "--labels"}, {"--edges", "--schema"});
  for (const char* tables : {"--edges", "--schema"})
    command.Excludes({"--format", "--data-dir", "--synthetic-seed"}, tables);
}

void AddOpenOptions(Command& command, OpenOptions& open) {
  command.add_option("--format", open.format, "Read DATASET as this format [detected]")
      ->type_name("NAME")
      ->group(kDataGroup);
  command
      .add_option("--data-dir", open.data_dir,
                  "Look for names here first, then in $L2GCN_DATA and ~/.cache/l2gcn")
      ->type_name("DIR")
      ->group(kDataGroup);
  command
      .add_flag("--directed", open.directed,
                "Aggregate over in- and out-neighbours apart; --directed auto: where that helps [symmetrise]")
      ->group(kDataGroup);
  command.add_flag("--keep-self-loops", open.keep_self_loops, "Keep self loops as stored [drop them]")
      ->group(kDataGroup);
  command
      .add_flag("--largest-component", open.largest_component,
                "Keep the nodes of the largest connected component alone")
      ->group(kDataGroup);
  AddWhole(command, "min-degree", open.min_degree, 0, std::numeric_limits<uint32_t>::max(),
           "Drop nodes with fewer neighbours, once")
      .group(kDataGroup);
  AddWhole(command, "synthetic-seed", open.synthetic_seed, 0, std::numeric_limits<uint64_t>::max(),
           "Seed of a synthetic:SHAPE graph")
      .default_str(std::to_string(open.synthetic_seed))
      ->group(kDataGroup);
  for (const std::string& name : command.Group(kDataGroup)) command.Advance(*command.get_option(name));
}

void ConfigOptions::AddTo(Command& command, const std::vector<std::string>& without, const Overrides& given) {
  std::vector<Field> offered;
  for (const Field& field : Fields()) {
    if (std::find(without.begin(), without.end(), field.name) == without.end()) offered.push_back(field);
  }
  AddKeptFields(command, offered, ResolveConfig(given, Dataset{}), overrides_);
}

void OutputOptions::AddTo(Command& command, const std::string& placeholder, const std::string& help,
                          const std::string& replaces) {
  command.add_option("-o,--output", path, help)->type_name(placeholder)->group(kOutputGroup);
  if (!replaces.empty())
    command.add_flag("--force", force, "Replace an existing " + replaces)->group(kOutputGroup);
}

void AddExactNames(CLI::App& command, bool& exact) {
  command
      .add_flag(
          "--exact-names", exact,
          "Write names into a .csv as they are; otherwise one that a spreadsheet would run as a formula "
          "(= + - @ in front) gets an apostrophe")
      ->group(kOutputGroup);
}

void CheckExactNames(bool exact, const std::string& path) {
  if (!exact || path == "-" || path.ends_with(".csv")) return;
  throw Error(ErrorKind::kUsage, "--exact-names: no .csv is written; leave it out");
}

void RejectPdfOutput(const std::string& path) {
  if (!path.ends_with(".pdf")) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("-o {}: PDF is not written; reports are HTML (print them from a browser) and figures "
                  "SVG files in a folder (rsvg-convert -f pdf -o f1.pdf f1.svg)",
                  path));
}

std::vector<std::string> LongOptions(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace l2gcn::cli
