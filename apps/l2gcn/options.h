// Options shared by sub-commands, built from the library's tables, so that names, defaults and checks are defined once.
#pragma once

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "l2gcn/config.h"
#include "l2gcn/dataset.h"

namespace l2gcn::cli {

// A sub-command that refuses options without an effect. Each such option declares what it depends on, and one check after
// parsing compares that with what was given.
class Command : public CLI::App {
 public:
  using CLI::App::App;

  // Refuses `options` unless one of `others` is given, too.
  void Needs(const std::vector<std::string>& options, const std::vector<std::string>& others);
  // Refuses `options` beside `other`.
  void Excludes(const std::vector<std::string>& options, const std::string& other);
  // Refuses `options` unless `holds`, which is called after parsing; `reason` goes on from "--option has no effect".
  void Only(const std::vector<std::string>& options, std::function<bool()> holds, const std::string& reason);
  // Shows `option` in --help-all alone.
  void Advance(const CLI::Option& option) { advanced_.insert(&option); }
  bool IsAdvanced(const CLI::Option& option) const { return advanced_.contains(&option); }
  // Refuses --name with a sentence on how to set it.
  void LeaveToPresets(const std::string& name) { of_presets_.insert(name); }
  bool IsLeftToPresets(const std::string& name) const { return of_presets_.contains(name); }
  // Command lines that --help begins with.
  void Examples(std::vector<std::string> lines) { examples_ = std::move(lines); }
  const std::vector<std::string>& examples() const { return examples_; }

  // The names of all options in a group.
  std::vector<std::string> Group(const std::string& name) const;

  // Throws Error(kUsage) naming the first option that has an empty value or no effect.
  void CheckEffects() const;

 private:
  struct Rule {
    const CLI::Option* option;
    std::function<bool()> holds;
    std::string reason;
  };
  std::vector<Rule> rules_;
  std::set<const CLI::Option*> advanced_;
  std::set<std::string> of_presets_;
  std::vector<std::string> examples_;
};

// Groups of options that several commands share.
inline constexpr const char* kDataGroup = "Data set";
inline constexpr const char* kTablesGroup = "Tables in place of a data set";
inline constexpr const char* kOutputGroup = "Output";

// Command lines that `l2gcn --help` begins with.
std::vector<std::string> TopExamples();

// An option that takes one of `choices`; anything else is an error naming the nearest.
CLI::Option& AddChoice(CLI::App& command, const std::string& name, std::string& value,
                       const std::vector<std::string>& choices, const std::string& help);

// An option that takes a whole number from low to high.
template <class T>
CLI::Option& AddWhole(CLI::App& command, const std::string& name, T& value, uint64_t low, uint64_t high,
                      const std::string& help) {
  const auto parse = [&value, name, low, high](const std::string& text) {
    value = static_cast<T>(ParseWholeNumber(name, text, low, high));
  };
  return *command.add_option_function<std::string>("--" + name, parse, help)
              ->type_name("N")
              ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

// An option that takes any number; T is double or an optional one.
template <class T>
CLI::Option& AddNumber(CLI::App& command, const std::string& name, T& value, const std::string& help) {
  const auto parse = [&value, name](const std::string& text) { value = ParseNumber(name, text); };
  return *command.add_option_function<std::string>("--" + name, parse, help)
              ->type_name("X")
              ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

// A positional argument the command cannot do without; checked by Require so that the message can help.
CLI::Option& AddPositional(CLI::App& command, const std::string& name, std::string& value,
                           const std::string& help);
// Throws Error(kUsage) with an example of the command where `value` is empty.
void Require(const std::string& value, const std::string& name, const Command& command);

// DATASET as a positional argument, and how to open it.
struct DataOptions {
  std::string spec;  // "": the embedded demo graph
  OpenOptions open;

  void AddTo(Command& command, const std::string& name, const std::string& help);
  bool named() const { return !spec.empty() || gives_tables(); }  // the user said which data set
  bool gives_tables() const {
    return !open.edges.empty() || !open.edge_tables.empty() || !open.schema.empty();
  }
};

// What a field is for, and the methods that take it where some do not.
template <class Config>
std::string HelpOf(const FieldOf<Config>& field) {
  if (field.methods.empty()) return field.help;
  return fmt::format("{} ({})", field.help, fmt::join(field.methods, ", "));
}

// The option of one field. A field that presets decide has none.
template <class Config>
void AddFieldOption(Command& command, const FieldOf<Config>& field, const std::string& default_text,
                    const std::function<void(const std::string&)>& keep) {
  if (field.level == FieldText::Level::kPreset) return command.LeaveToPresets(field.name);
  CLI::Option* option = nullptr;
  const std::string help = HelpOf(field);
  if (field.kind == FieldText::Kind::kFlag) {
    option = command.add_flag("--" + field.name + ",!--no-" + field.name, help)->each(keep);
  } else {
    std::string type = field.placeholder;
    if (!field.choices.empty()) type.clear();
    for (const std::string& choice : field.choices) type += (type.empty() ? "" : "|") + choice;
    option = command.add_option_function<std::string>("--" + field.name, keep, help)->type_name(type);
  }
  option->default_str(default_text)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->group(field.group);
  if (field.level == FieldText::Level::kAdvanced) command.Advance(*option);
}

// How data sets are opened, for commands that take several; tables file by file are for one (DataOptions).
void AddOpenOptions(Command& command, OpenOptions& open);

// One option for every field of a table; what the user says is checked at once and kept in order. `defaults` are shown.
template <class Config>
void AddKeptFields(Command& command, const std::vector<FieldOf<Config>>& fields, const Config& defaults,
                   Overrides& said) {
  for (const FieldOf<Config>& field : fields) {
    const auto keep = [field, &said](const std::string& value) {
      Config tried;
      field.set(tried, value);
      said.emplace_back(field.name, value);
    };
    AddFieldOption(command, field, field.get(defaults), keep);
  }
}

// Likewise for the settings of a training.
class ConfigOptions {
 public:
  // Leaves out the fields named in `without`. The defaults shown are those of a run with the settings `given`.
  void AddTo(Command& command, const std::vector<std::string>& without = {}, const Overrides& given = {});
  const Overrides& overrides() const { return overrides_; }

 private:
  Overrides overrides_;
};

// A file or directory to write, and leave to replace it.
struct OutputOptions {
  std::string path;
  bool force = false;

  void AddTo(Command& command, const std::string& placeholder, const std::string& help,
             const std::string& replaces);
};

// --exact-names, for commands that write names into .csv files. Throws Error(kUsage) where it would have no effect.
void AddExactNames(CLI::App& command, bool& exact);
void CheckExactNames(bool exact, const std::string& path);

// Throws Error(kUsage) for an output that is named *.pdf: pages are HTML and figures SVG, which other programs convert.
void RejectPdfOutput(const std::string& path);

// Every --name of a command.
std::vector<std::string> LongOptions(const CLI::App& command);

}  // namespace l2gcn::cli
