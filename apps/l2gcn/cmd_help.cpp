// l2gcn help and l2gcn version: what --help and --version print.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "l2gcn/error.h"
#include "l2gcn/version.h"
#include "options.h"
#include "program.h"
#include "result_text.h"

namespace l2gcn::cli {
namespace {

void ShowHelp(Program& program, const std::string& name) {
  const std::vector<std::string> names = program.CommandNames();
  const bool known = std::find(names.begin(), names.end(), name) != names.end();
  if (!name.empty() && !known) {
    const std::string near = Suggestion(name, names);
    throw Error(ErrorKind::kUsage,
                fmt::format("unknown command '{}'{}", name, near.empty() ? "; see l2gcn --help" : near));
  }
  const CLI::App& shown = name.empty() ? program.app() : *program.app().get_subcommand(name);
  const std::string title = program.app().get_name() + (name.empty() ? "" : " " + name);
  std::string text = shown.get_formatter()->make_help(&shown, title, CLI::AppFormatMode::Normal);
  text.pop_back();  // Print adds it again
  program.terminal().Print(text);
}

nlohmann::ordered_json VersionJson() {
  nlohmann::ordered_json json = {{"version", Version()}};
  for (const auto& [name, value] : BuildFeatures()) json[name] = value;
  return json;
}

}  // namespace

std::string VersionText() {
  std::string text = "l2gcn " + Version();
  for (const auto& [name, value] : BuildFeatures()) text += fmt::format("\n{}: {}", name, value);
  return text;
}

void AddHelp(Program& program) {
  auto name = std::make_shared<std::string>();
  Command& help = program.AddTextCommand("help", "Show the help of a command");
  help.group("");
  program.OnRun(help, [&program, name] { ShowHelp(program, *name); });
  AddPositional(help, "COMMAND", *name, "The command to explain; none: all of them in a line each");
  Command& version = program.AddCommand("version", "Show the version and what this build holds");
  version.group("");
  program.OnRun(version, [&program] {
    program.terminal().Print(program.json() ? JsonLine(VersionJson()) : VersionText());
  });
}

}  // namespace l2gcn::cli
