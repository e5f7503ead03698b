// The look of --help: option and value on the left, its sentence and default wrapped on the right.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace l2gcn::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
};

}  // namespace l2gcn::cli
