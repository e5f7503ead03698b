// GraphLand folders: features.csv, targets.csv and edgelist.csv are tables whose first column counts the nodes, info.yaml
// lists the columns that hold codes of categories, and each split_masks_NAME.csv is the split file:NAME.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <unordered_map>

#include "core/error_format.h"
#include "data/folders.h"
#include "data/reader.h"
#include "data/spellings.h"
#include "data/table.h"
#include "data/table_files.h"
#include "data/table_set.h"
#include "data/text_source.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr const char *kInfoFile = "info.yaml", *kFeaturesTable = "features.csv",
                     *kTargetsFile = "targets.csv", *kEdgesFile = "edgelist.csv";
constexpr const char* kGraphLandFiles[] = {kInfoFile, kFeaturesTable, kTargetsFile, kEdgesFile};
constexpr std::string_view kMasks = "split_masks_";
constexpr size_t kLargestInfo = size_t{1} << 20;

std::vector<std::string> CategoryColumns(const fs::path& info) {
  try {
    const YAML::Node names = YAML::Load(ReadUnpacked(info, kLargestInfo))["categorical_features_names"];
    return names && names.IsSequence() ? names.as<std::vector<std::string>>() : std::vector<std::string>();
  } catch (const YAML::Exception& error) {
    ThrowInput("{}:{}: unexpected content: {}", info.string(), error.mark.line + 1, error.msg);
  }
}

// Names of the splits, that of few random train nodes (RL) first, as the benchmark lists them.
std::vector<std::string> SplitNames(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string stem = entry.path().stem().string();
    if (stem.starts_with(kMasks) && entry.path().extension() == ".csv")
      names.push_back(stem.substr(kMasks.size()));
  }
  std::sort(names.begin(), names.end());
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name == "RL"; });
  return names;
}

// The nodes by their ids.
using NodesById = std::unordered_map<std::string, uint32_t>;

Split ReadMasks(const Context& context, const fs::path& path, const std::string& name,
                const NodesById& nodes) {
  const TableFormat format = SniffTable(path, true);
  constexpr std::pair<const char*, Role> kMaskColumns[] = {
      {"train", Role::kTrain}, {"val", Role::kVal}, {"test", Role::kTest}};
  std::vector<size_t> as_text(format.columns());
  for (size_t c = 0; c < as_text.size(); ++c) as_text[c] = c;
  const Table table = ReadTable(context, path, format, as_text);
  Split split{"file:" + name, Array<uint8_t>::Zeros(nodes.size())};
  for (const auto& [part, role] : kMaskColumns) {
    const size_t column = FindColumn(format, part);
    if (column == kNoTableColumn || column == 0)
      ThrowInput("{}: expected a column of node ids, and columns train, val and test", path.string());
    for (size_t row = 0; row < table.rows; ++row) {
      const std::string cell = LowerCase(table.columns[column].text[row]);
      if (cell != "true" && cell != "false" && cell != "1" && cell != "0")
        ThrowInput("{}: row {}: column {}: '{}' is neither True nor False", path.string(), row + 1, part,
                   cell);
      if (cell == "false" || cell == "0") continue;
      const auto node = nodes.find(std::string(table.columns[0].text[row]));
      if (node == nodes.end())
        ThrowInput("{}: row {}: there is no node {}", path.string(), row + 1, table.columns[0].text[row]);
      GiveRole(split, node->second, role, path.string());
    }
  }
  return split;
}

}  // namespace

bool DetectGraphLand(const fs::path& path) {
  std::error_code error;
  return std::all_of(std::begin(kGraphLandFiles), std::end(kGraphLandFiles),
                     [&](const char* name) { return fs::is_regular_file(path / name, error); });
}

Dataset ReadGraphLand(const Context& context, const fs::path& path, const OpenOptions& options) {
  if (!DetectGraphLand(path))
    ThrowInput("{}: expected the files {}", path.string(), fmt::join(kGraphLandFiles, ", "));
  const TableFiles files{
      path / kEdgesFile, {}, path / kFeaturesTable, path / kTargetsFile, CategoryColumns(path / kInfoFile)};
  Dataset dataset = ReadTables(context, files, options);
  dataset.format = "graphland";
  dataset.path = path.string();
  NodesById nodes;
  for (uint32_t node = 0; node < dataset.nodes(); ++node) nodes.emplace(dataset.NodeName(node), node);
  for (const std::string& name : SplitNames(path))
    dataset.splits.push_back(ReadMasks(context, path / fmt::format("{}{}.csv", kMasks, name), name, nodes));
  return dataset;
}

}  // namespace l2gcn
