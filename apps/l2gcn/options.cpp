#include "options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <limits>

#include "l2gcn/error.h"

namespace l2gcn::cli {
namespace {

// Whether a method of this build has a use for the field.
bool IsUsable(const Field& field) {
  const std::vector<std::string>& built = BuiltMethods();
  return field.methods.empty() ||
         std::any_of(field.methods.begin(), field.methods.end(), [&](const std::string& method) {
           return std::find(built.begin(), built.end(), method) != built.end();
         });
}

}  // namespace

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

uint64_t ParseBytes(const std::string& name, const std::string& text) {
  constexpr const char* kUnits = "KMGT";
  std::string number = text;
  int shift = 0;
  if (!text.empty()) {
    const char* unit = std::strchr(kUnits, std::toupper(static_cast<unsigned char>(text.back())));
    if (unit != nullptr && *unit != '\0') {
      shift = 10 * static_cast<int>(unit - kUnits + 1);
      number.pop_back();
    }
  }
  return ParseWholeNumber(name, number, 1, std::numeric_limits<uint64_t>::max() >> shift) << shift;
}

CLI::Option& AddPositional(CLI::App& command, const std::string& name, std::string& value,
                           const std::string& help) {
  return *command.add_option(name, value, help)->type_name("");
}

void Require(const std::string& value, const std::string& name, const CLI::App& command) {
  if (!value.empty()) return;
  throw Error(ErrorKind::kUsage, fmt::format("{} is missing; see l2gcn {} --help", name, command.get_name()));
}

void DataOptions::AddTo(CLI::App& command, const std::string& name, const std::string& help) {
  AddPositional(command, name, spec, help);
  AddOpenOptions(command, open);
}

void AddOpenOptions(CLI::App& command, OpenOptions& open) {
  const auto text = [&command](const char* option, std::string& value, const char* type,
                               const char* sentence) {
    command.add_option(option, value, sentence)->type_name(type)->group("Data");
  };
  const auto flag = [&command](const char* option, bool& value, const char* sentence) {
    command.add_flag(option, value, sentence)->group("Data");
  };
  text("--format", open.format, "NAME", "Read the data set as this format [detected]");
  text("--data-dir", open.data_dir, "DIR",
       "Look for names here first, then in $L2GCN_DATA and ~/.cache/l2gcn");
  text("--edges", open.edges, "FILE",
       "An edge list, in place of a data set; the next four describe its nodes");
  text("--nodes", open.nodes, "FILE", "Node table: id, features, label");
  text("--features", open.features, "FILE", "Features, where they stand in a file of their own");
  text("--labels", open.labels, "FILE", "Labels, where they stand in a file of their own");
  text("--label", open.label_column, "NAME", "Column of the label [the last]");
  flag("--directed", open.directed, "Keep edge directions as stored [symmetrise]");
  flag("--keep-self-loops", open.keep_self_loops, "Keep self loops as stored [drop them]");
  AddWhole(command, "synthetic-seed", open.synthetic_seed, 0, std::numeric_limits<uint64_t>::max(),
           "Seed of a synthetic:SHAPE graph [0]")
      .group("Data");
}

void ConfigOptions::AddTo(CLI::App& command, const std::vector<std::string>& without) {
  const TrainConfig defaults = ResolveConfig({}, Dataset{});
  for (const Field& field : Fields()) {
    if (!IsUsable(field) || std::find(without.begin(), without.end(), field.name) != without.end()) continue;
    const auto keep = [this, &field](const std::string& value) {
      field.set(scratch_, value);
      overrides_.emplace_back(field.name, value);
    };
    AddFieldOption(command, field, field.get(defaults), "Training", keep);
  }
}

void OutputOptions::AddTo(CLI::App& command, const std::string& placeholder, const std::string& help,
                          const std::string& replaces) {
  command.add_option("-o,--output", path, help)->type_name(placeholder)->group("Output");
  if (!replaces.empty())
    command.add_flag("--force", force, "Replace an existing " + replaces)->group("Output");
}

std::vector<std::string> LongOptions(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace l2gcn::cli
