#include "result_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "l2gcn/error.h"
#include "l2gcn/json_depth.h"
#include "terminal.h"

namespace l2gcn::cli {

using Json = nlohmann::ordered_json;

namespace {

// F1 in per cent, R² as it is.
std::string NumberText(const Json& result, double value) {
  return IsRegression(result) ? fmt::format("{:.4f}", value) : Percent(value);
}

}  // namespace

bool IsRegression(const Json& result) { return result.contains("r2"); }

std::string ScoreText(const Json& result) {
  std::string text;
  const char* score = IsRegression(result) ? "r2" : "f1";
  const bool several = result.contains("runs") && result.at("runs").size() > 1;
  for (const char* part : {"train", "val", "test"}) {
    const Json& value = result.at(score).at(part);
    if (value.is_null()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : "   ", part, NumberText(result, value.get<double>()));
    const Json deviation = several ? result.at(fmt::format("{}_sd", score)).at(part) : Json();
    if (deviation.is_number()) text += fmt::format(" ± {}", NumberText(result, deviation.get<double>()));
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
  const Json& scores = IsRegression(result) ? baseline.at("r2") : baseline;
  std::string text;
  for (const char* part : {"train", "val", "test"}) {
    if (scores.at(part).is_null()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : "   ", part,
                        NumberText(result, scores.at(part).get<double>()));
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
