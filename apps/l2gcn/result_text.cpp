#include "result_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "l2gcn/error.h"
#include "l2gcn/json_depth.h"
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
  for (const Json& count : result.at("epochs")) {
    counts.push_back(count.is_number_integer() ? fmt::format("{}", count.get<uint64_t>())
                                               : fmt::format("{:.1f}", count.get<double>()));
  }
  return fmt::format("{}", fmt::join(counts, " + "));
}

std::string BaselineText(const Json& result) {
  if (!result.contains("baseline")) return "";  // a run written before it was kept
  const Json& baseline = result.at("baseline");
  std::string text;
  for (const char* part : {"train", "val", "test"}) {
    if (baseline.at(part).is_null()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : "   ", part, Percent(baseline.at(part).get<double>()));
  }
  return fmt::format("{}  ({})", text, OneLine(baseline.at("name").get<std::string>()));
}

std::string SplitText(const Json& result) {
  if (!result.contains("split")) return "";
  const Json& split = result.at("split");
  std::string text = OneLine(split.at("name").get<std::string>()) + ":";
  for (const char* part : {"train", "val", "test"})
    text += fmt::format(" {} {}", Grouped(split.at(part).get<uint64_t>()), part);
  const auto unlabelled = split.at("unlabelled").get<uint64_t>();
  return unlabelled == 0 ? text : text + fmt::format(", {} without a label", Grouped(unlabelled));
}

std::string Counted(uint64_t count, const std::string& thing) {
  return fmt::format("{} {}{}", Grouped(count), thing, count == 1 ? "" : "s");
}

Json ParseJson(const std::string& text, const std::string& where) {
  CheckJsonDepth(text, where);
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw Error(ErrorKind::kInput, fmt::format("{}: not JSON at byte {}; it is damaged", where, error.byte));
  } catch (const Json::exception& error) {  // a number that no double holds, such as 1e999
    throw Error(ErrorKind::kInput, fmt::format("{}: {}", where, error.what()));
  }
}

std::string JsonLine(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace l2gcn::cli
