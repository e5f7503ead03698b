#include "result_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "terminal.h"

namespace l2gcn::cli {

using Json = nlohmann::ordered_json;

std::string F1Text(const Json& result) {
  std::string text;
  const bool several = result.contains("runs") && result.at("runs").size() > 1;
  for (const char* part : {"train", "val", "test"}) {
    const Json& f1 = result.at("f1").at(part);
    if (f1.is_null()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : "   ", part, Percent(f1.get<double>()));
    if (several) text += fmt::format(" ± {}", Percent(result.at("f1_sd").at(part).get<double>()));
  }
  return text;
}

std::string EpochsText(const Json& result) {
  std::vector<std::string> counts;
  for (const Json& count : result.at("epochs")) counts.push_back(fmt::format("{:g}", count.get<double>()));
  return fmt::format("{}", fmt::join(counts, " + "));
}

}  // namespace l2gcn::cli
