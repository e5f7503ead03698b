// l2gcn completion: shell completion scripts, written from the same option tables as --help. Data sets, the
// paper's tables and lists of methods are completed by name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "l2gcn/dataset.h"
#include "l2gcn/reproduce.h"
#include "options.h"
#include "program.h"

namespace l2gcn::cli {
namespace {

std::vector<const CLI::App*> Commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// Options that take several methods, separated by commas.
bool TakesMethods(const CLI::Option& option) {
  return !option.get_lnames().empty() && option.get_lnames().front() == "methods";
}

// The values an option takes: its type reads "a|b|c"; empty where any value goes. Words in capitals stand for
// a file or a number.
std::vector<std::string> ValuesOf(const CLI::Option& option) {
  if (TakesMethods(option)) return BuiltMethods();
  const std::string type = option.get_type_name();
  if (std::any_of(type.begin(), type.end(), [](unsigned char c) { return std::isupper(c) != 0; })) {
    std::vector<std::string> words = CLI::detail::split(type, '|');
    std::erase_if(words,
                  [](const std::string& word) { return std::isupper(static_cast<unsigned char>(word[0])); });
    return words;
  }
  return type.find('|') == std::string::npos ? std::vector<std::string>{} : CLI::detail::split(type, '|');
}

// What a command's first word may be besides a path.
std::vector<std::string> WordsOf(const CLI::App& command) {
  const std::string& name = command.get_name();
  std::vector<std::string> words;
  if (name == "reproduce") {
    words = ReproduceTargets();
    words.push_back("all");
  } else if (name == "completion") {
    words = {"bash", "zsh", "fish"};
  } else if (command.get_option_no_throw("--data-dir") != nullptr) {
    for (const KnownDataset& known : ListDatasets({})) words.push_back(known.name);
  }
  return words;
}

std::string BashScript(const CLI::App& app, const std::vector<std::string>& commands) {
  std::string options, values;
  for (const CLI::App* command : Commands(app)) {
    options += fmt::format("    {}) words='{}' names='{}' ;;\n", command->get_name(),
                           fmt::join(LongOptions(*command), " "), fmt::join(WordsOf(*command), " "));
    for (const CLI::Option* option : command->get_options()) {
      const std::vector<std::string> choices = ValuesOf(*option);
      if (choices.empty() || option->get_lnames().empty()) continue;
      // Completes the last item of a list.
      const char* complete = TakesMethods(*option)
                                 ? "[[ $word == *,* ]] && head=\"${{word%,*}},\"; COMPREPLY=($(compgen -P "
                                   "\"$head\" -W '{}' -- \"${{word##*,}}\"))"
                                 : "COMPREPLY=($(compgen -W '{}' -- \"$word\"))";
      values +=
          fmt::format("    '{} --{}') {}; return ;;\n", command->get_name(), option->get_lnames().front(),
                      fmt::format(fmt::runtime(complete), fmt::join(choices, " ")));
    }
  }
  return fmt::format(
      R"(# bash completion for l2gcn: source it, or put it in ~/.local/share/bash-completion/completions/l2gcn
_l2gcn() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words='' names='' head=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$word")); return
  fi
  case "${{COMP_WORDS[1]}} $before" in
{}  esac
  case "${{COMP_WORDS[1]}}" in
{}  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) COMPREPLY=($(compgen -W "$names" -- "$word") $(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _l2gcn l2gcn)",
      fmt::join(commands, " "), values, options);
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
        const char* from = TakesMethods(*option) ? ":value:_values -s , method {}" : ":value:({})";
        if (!choices.empty()) cases += fmt::format(fmt::runtime(from), fmt::join(choices, " "));
        if (choices.empty() && option->get_type_size() > 0) cases += ":value:_files";
        cases += "' \\\n";
      }
    }
    const std::vector<std::string> names = WordsOf(*command);
    if (!names.empty()) {
      cases += fmt::format("      '*: :{{_alternative \"names:name:({})\" \"files:file:_files\"}}' ;;\n",
                           fmt::join(names, " "));
    } else {
      cases += "      '*:file:_files' ;;\n";
    }
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
    const std::vector<std::string> names = WordsOf(*command);
    if (!names.empty()) {
      script += fmt::format("complete -c l2gcn -n '__fish_seen_subcommand_from {}' -a '{}'\n",
                            command->get_name(), fmt::join(names, " "));
    }
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        script += fmt::format("complete -c l2gcn -n '__fish_seen_subcommand_from {}' -l {} -d '{}'",
                              command->get_name(), name, quoted(option->get_description()));
        const std::vector<std::string> choices = ValuesOf(*option);
        const char* from = TakesMethods(*option) ? " -x -a '(__fish_append , {})'" : " -x -a '{}'";
        if (!choices.empty()) script += fmt::format(fmt::runtime(from), fmt::join(choices, " "));
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
  Command& command = program.AddTextCommand("completion", "Print a completion script for bash, zsh or fish");
  program.OnRun(command, [&program, shell, &command] {
    Require(*shell, "SHELL (bash, zsh or fish)", command);
    const CLI::App& app = program.app();
    program.terminal().Print(*shell == "bash"  ? BashScript(app, program.CommandNames())
                             : *shell == "zsh" ? ZshScript(app)
                                               : FishScript(app));
  });
  AddChoice(command, "SHELL", *shell, {"bash", "zsh", "fish"}, "Whose completion script");
}

}  // namespace l2gcn::cli
