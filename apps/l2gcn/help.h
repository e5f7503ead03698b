// Formats --help and --help-all in 80 columns: option and value on the left, its sentence and default on the right.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace l2gcn::cli {

// `line` with `text` behind it from `column` on, broken between words to fit 80 columns.
std::string Wrapped(std::string line, const std::string& text, size_t column);

class HelpFormatter : public CLI::Formatter {
 public:
  // --help (Normal): the basic options in one list, the first sentence of each. --help-all (All): every option, in groups.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

}  // namespace l2gcn::cli
