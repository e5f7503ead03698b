#include "help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "options.h"

namespace l2gcn::cli {
namespace {

constexpr size_t kTextColumn = 28;
constexpr size_t kLineWidth = 80;
constexpr size_t kLongestType = 22;  // a longer list of words stands behind the sentence instead

// Characters on the screen: UTF-8 continuation bytes take no room.
size_t ScreenWidth(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(),
                                           [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

std::string OptionNames(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames())
    names += fmt::format("{}-{}", names.empty() ? "" : ", ", name);
  for (const std::string& name : option.get_lnames())
    names += fmt::format("{}--{}", names.empty() ? "" : ", ", name);
  return names;
}

// The words of a type that is too long to stand beside the option's name.
std::vector<std::string> ListedWords(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.size() > kLongestType ? CLI::detail::split(type, '|') : std::vector<std::string>{};
}

// Without the full stop.
std::string FirstSentence(const std::string& text) {
  const size_t end = text.find(". ");
  std::string sentence = text.substr(0, end);
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

std::string OptionHelp(const CLI::Option& option, bool whole) {
  const std::vector<std::string> words = ListedWords(option);
  std::string line = "  " + (option.get_positional() ? option.get_name(true) : OptionNames(option));
  const std::string type = words.empty() ? option.get_type_name() : "NAME";
  if (!option.get_positional() && option.get_type_size() > 0 && !type.empty()) line += " " + type;
  std::string text = option.get_description();
  if (!whole) text = FirstSentence(text);
  if (whole && !words.empty()) text += fmt::format(" One of {}.", fmt::join(words, ", "));
  if (!option.get_default_str().empty()) {
    const std::string value = fmt::format(" [{}]", option.get_default_str());
    if (whole || kTextColumn + ScreenWidth(text + value) <= kLineWidth) text += value;
  }
  return Wrapped(line, text, kTextColumn);
}

std::string CommandList(const CLI::App& app) {
  std::string text = "\nCommands:\n";
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;
    text += Wrapped("  " + command->get_name(), command->get_description(), 20);
  }
  return text;
}

// Every option in its group, in the order in which groups appear.
std::string OptionGroups(const CLI::App& app) {
  std::string text;
  for (const std::string& group : app.get_groups()) {
    const auto options = app.get_options(
        [&](const CLI::Option* option) { return option->get_group() == group && option->nonpositional(); });
    if (group.empty() || options.empty()) continue;
    text += "\n" + group + ":\n";
    for (const CLI::Option* option : options) text += OptionHelp(*option, true);
  }
  return text;
}

// What people use, with what the command writes at the end.
std::string BasicOptions(const CLI::App& app, const Command* command) {
  std::string first, last;
  for (const CLI::Option* option : app.get_options()) {
    const bool help = option == app.get_help_ptr() || option == app.get_help_all_ptr();
    const bool advanced = command != nullptr && command->IsAdvanced(*option);
    if (help || advanced || !option->nonpositional() || option->get_group().empty()) continue;
    (option->get_group() == kOutputGroup ? last : first) += OptionHelp(*option, command == nullptr);
  }
  return first.empty() && last.empty() ? "" : "\nOptions:\n" + first + last;
}

}  // namespace

std::string Wrapped(std::string line, const std::string& text, size_t column) {
  std::string lines;
  const auto break_line = [&] {
    lines += line + "\n";
    line.clear();
  };
  if (!line.empty() && ScreenWidth(line) + 2 > column && column > 0) break_line();
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t width = ScreenWidth(line);
    if (width < column) {
      line += std::string(column - width, ' ');
    } else if (width > 0 && width + 1 + ScreenWidth(word) > kLineWidth) {
      break_line();
      line = std::string(column, ' ');
    } else if (width > column) {
      line += ' ';
    }
    line += word;
  }
  break_line();
  return lines;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  const auto* command = dynamic_cast<const Command*>(app);
  const bool all = mode != CLI::AppFormatMode::Normal;
  const std::vector<std::string> examples = command != nullptr ? command->examples() : TopExamples();
  std::string text = Wrapped("", app->get_description(), 0);
  if (!examples.empty()) text += "\nExamples:\n";
  for (const std::string& example : examples) text += "  " + example + "\n";
  text += "\n" + make_usage(app, name);
  const auto positionals =
      app->get_options([](const CLI::Option* option) { return option->get_positional(); });
  if (!positionals.empty()) text += "\n";
  for (const CLI::Option* option : positionals) text += OptionHelp(*option, true);
  if (command == nullptr) text += CommandList(*app);
  text += all ? OptionGroups(*app) : BasicOptions(*app, command);
  if (all && !app->get_footer().empty()) text += "\n" + app->get_footer();
  if (command == nullptr) text += "\nRun 'l2gcn COMMAND --help' for a command's options.\n";
  if (command != nullptr && !all)
    text += fmt::format("\nRun 'l2gcn {} --help-all' for every option, in groups.\n", app->get_name());
  return text;
}

}  // namespace l2gcn::cli
