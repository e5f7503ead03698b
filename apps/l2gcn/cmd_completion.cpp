// l2gcn completion: shell completion scripts, written from the same option tables as --help.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "options.h"
#include "program.h"

namespace l2gcn::cli {
namespace {

std::vector<const CLI::App*> Commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : Commands(app)) names.push_back(command->get_name());
  return names;
}

// The values an option takes: its type reads "a|b|c"; empty where any value goes.
std::vector<std::string> ValuesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.find('|') == std::string::npos ? std::vector<std::string>{} : CLI::detail::split(type, '|');
}

std::string BashScript(const CLI::App& app) {
  std::string options, values;
  for (const CLI::App* command : Commands(app)) {
    options +=
        fmt::format("    {}) words='{}' ;;\n", command->get_name(), fmt::join(LongOptions(*command), " "));
    for (const CLI::Option* option : command->get_options()) {
      const std::vector<std::string> choices = ValuesOf(*option);
      if (choices.empty() || option->get_lnames().empty()) continue;
      values += fmt::format("    '{} --{}') COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                            command->get_name(), option->get_lnames().front(), fmt::join(choices, " "));
    }
  }
  return fmt::format(
      R"(# bash completion for l2gcn: source it, or put it in ~/.local/share/bash-completion/completions/l2gcn
_l2gcn() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$word")); return
  fi
  case "${{COMP_WORDS[1]}} $before" in
{}  esac
  case "${{COMP_WORDS[1]}}" in
{}  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _l2gcn l2gcn)",
      fmt::join(CommandNames(app), " "), values, options);
}

std::string ZshQuoted(std::string text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') quoted += '\\';
    quoted += c == '\'' ? '"' : c;
  }
  return quoted;
}

std::string ZshScript(const CLI::App& app) {
  std::string commands, cases;
  for (const CLI::App* command : Commands(app)) {
    commands += fmt::format("    '{}:{}'\n", command->get_name(), ZshQuoted(command->get_description()));
    cases += fmt::format("    {}) _arguments \\\n", command->get_name());
    for (const CLI::Option* option : command->get_options()) {
      const std::vector<std::string> choices = ValuesOf(*option);
      for (const std::string& name : option->get_lnames()) {
        cases += fmt::format("      '--{}[{}]", name, ZshQuoted(option->get_description()));
        if (!choices.empty()) cases += fmt::format(":value:({})", fmt::join(choices, " "));
        if (choices.empty() && option->get_type_size() > 0) cases += ":value:_files";
        cases += "' \\\n";
      }
    }
    cases += "      '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef l2gcn
_l2gcn() {{
  local -a commands=(
{}  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local command=$words[2]
  shift words; (( CURRENT-- ))
  case $command in
{}  esac
}}
compdef _l2gcn l2gcn)",
                     commands, cases);
}

std::string FishScript(const CLI::App& app) {
  const auto quoted = [](std::string text) {
    for (size_t at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 2))
      text.insert(at, "\\");
    return text;
  };
  std::string script = "# fish completion for l2gcn: put it in ~/.config/fish/completions/l2gcn.fish\n";
  for (const CLI::App* command : Commands(app)) {
    script += fmt::format("complete -c l2gcn -n __fish_use_subcommand -f -a {} -d '{}'\n",
                          command->get_name(), quoted(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        script += fmt::format("complete -c l2gcn -n '__fish_seen_subcommand_from {}' -l {} -d '{}'",
                              command->get_name(), name, quoted(option->get_description()));
        const std::vector<std::string> choices = ValuesOf(*option);
        if (!choices.empty()) script += fmt::format(" -x -a '{}'", fmt::join(choices, " "));
        if (choices.empty() && option->get_type_size() > 0) script += " -r";
        script += '\n';
      }
    }
  }
  script.pop_back();
  return script;
}

}  // namespace

void AddCompletion(Program& program) {
  auto shell = std::make_shared<std::string>();
  CLI::App& command = program.AddCommand("completion", "Print a completion script for bash, zsh or fish");
  program.OnRun(command, [&program, shell, &command] {
    Require(*shell, "SHELL (bash, zsh or fish)", command);
    const CLI::App& app = program.app();
    program.terminal().Print(*shell == "bash"  ? BashScript(app)
                             : *shell == "zsh" ? ZshScript(app)
                                               : FishScript(app));
  });
  AddChoice(command, "SHELL", *shell, {"bash", "zsh", "fish"}, "Whose completion script");
}

}  // namespace l2gcn::cli
