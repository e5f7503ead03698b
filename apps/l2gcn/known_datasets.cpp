#include "known_datasets.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "result_text.h"

namespace l2gcn::cli {
namespace {

std::string ToJson(const std::vector<KnownDataset>& known) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const KnownDataset& one : known) {
    list.push_back({{"name", one.name},
                    {"description", one.description},
                    {"present", !one.found_at.empty()},
                    {"path", one.found_at},
                    {"format", one.format}});
  }
  return JsonLine({{"datasets", list}});
}

std::string ToText(const std::vector<KnownDataset>& known) {
  size_t width = 0;
  for (const KnownDataset& one : known) width = std::max(width, one.name.size());
  std::string text;
  for (const KnownDataset& one : known) {
    text +=
        fmt::format("{:<{}}  {}\n{:<{}}    {}\n", one.name, width, one.description, "", width,
                    one.found_at.empty() ? "not found" : fmt::format("{} ({})", one.found_at, one.format));
  }
  return text + "\nNames are looked for in --data-dir, $L2GCN_DATA and ~/.cache/l2gcn.";
}

}  // namespace

void ShowKnownDatasets(Program& program, const OpenOptions& open) {
  const std::vector<KnownDataset> known = ListDatasets(open);
  program.terminal().Print(program.json() ? ToJson(known) : ToText(known));
}

}  // namespace l2gcn::cli
