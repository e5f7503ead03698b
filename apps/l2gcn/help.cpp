#include "help.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace l2gcn::cli {
namespace {

constexpr size_t kTextColumn = 34;
constexpr size_t kLineWidth = 110;

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

}  // namespace

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string line = "  " + (is_positional ? option->get_name(true) : OptionNames(*option));
  if (!is_positional && option->get_type_size() > 0) line += " " + option->get_type_name();
  std::string text = option->get_description();
  if (!option->get_default_str().empty()) text += fmt::format(" [{}]", option->get_default_str());

  std::string lines;
  const auto break_line = [&] {
    lines += line + "\n";
    line.clear();
  };
  if (ScreenWidth(line) + 2 > kTextColumn) break_line();
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t width = ScreenWidth(line);
    if (width < kTextColumn) {
      line += std::string(kTextColumn - width, ' ');
    } else if (width + 1 + ScreenWidth(word) > kLineWidth) {
      break_line();
      line = std::string(kTextColumn, ' ');
    } else {
      line += ' ';
    }
    line += word;
  }
  break_line();
  return lines;
}

}  // namespace l2gcn::cli
