// Options that several sub-commands share, built from the library's own tables so that names, defaults and
// checks stand once.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "l2gcn/config.h"
#include "l2gcn/dataset.h"

namespace l2gcn::cli {

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

// A number of bytes, with K, M, G or T (powers of 1024) or without. Throws Error(kUsage).
uint64_t ParseBytes(const std::string& name, const std::string& text);

// A positional argument the command cannot do without; checked by Require so that the message can help.
CLI::Option& AddPositional(CLI::App& command, const std::string& name, std::string& value,
                           const std::string& help);
void Require(const std::string& value, const std::string& name, const CLI::App& command);

// DATASET as a positional argument, and how to open it.
struct DataOptions {
  std::string spec;  // "": the embedded demo graph
  OpenOptions open;

  void AddTo(CLI::App& command, const std::string& name, const std::string& help);
};

// One option for every field of the table; what the user said is checked at once and kept in order.
class ConfigOptions {
 public:
  void AddTo(CLI::App& command);
  const Overrides& overrides() const { return overrides_; }

 private:
  void AddField(CLI::App& command, const Field& field, const std::string& default_text);
  Overrides overrides_;
  TrainConfig scratch_;  // where values are tried
};

// A file or directory to write, and leave to replace it.
struct OutputOptions {
  std::string path;
  bool force = false;

  void AddTo(CLI::App& command, const std::string& placeholder, const std::string& help,
             const std::string& replaces);
};

// Every --name of a command.
std::vector<std::string> LongOptions(const CLI::App& command);

}  // namespace l2gcn::cli
