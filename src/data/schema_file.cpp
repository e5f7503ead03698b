#include "data/schema_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "core/error_format.h"
#include "data/table_files.h"
#include "data/text_source.h"
#include "data/typed_tables.h"
#include "l2gcn/settings.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr size_t kLargestSchema = size_t{1} << 20;
constexpr size_t kMostTables = 10'000;

std::string AbsoluteOf(const std::string& path) { return fs::absolute(path).lexically_normal().string(); }

class SchemaFile {
 public:
  explicit SchemaFile(const fs::path& path) : path_(path) {
    try {
      root_ = YAML::Load(ReadUnpacked(path, kLargestSchema));
    } catch (const YAML::Exception& error) {
      ThrowInput("{}:{}: no valid YAML or JSON: {}", path.string(), error.mark.line + 1, error.msg);
    }
    CheckKeys();
  }

  std::vector<OpenOptions::Table> Tables(const char* key) const {
    std::vector<OpenOptions::Table> tables;
    const YAML::Node map = root_[key];
    if (!map) return tables;
    if (!map.IsMap() || map.size() > kMostTables)
      ThrowInput("{}: expected names and files under {}", path_.string(), key);
    for (const auto& entry : map) {
      const fs::path file = Text(entry.second, key);
      const std::string name = Text(entry.first, key);
      tables.push_back({name, (file.is_absolute() ? file : path_.parent_path() / file).string()});
    }
    return tables;
  }

  std::string Value(const char* key) const { return root_[key] ? Text(root_[key], key) : ""; }

 private:
  void CheckKeys() const {
    static const std::vector<std::string> kKeys = {"nodes", "edges", "label", "id"};
    if (!root_.IsMap()) ThrowInput("{}: expected nodes, edges and label", path_.string());
    for (const auto& entry : root_) {
      const std::string key = Text(entry.first, "the file");
      if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
        ThrowInput("{}: '{}' is unknown{}; expected nodes, edges, label or id", path_.string(), key,
                   Suggestion(key, kKeys));
    }
  }

  std::string Text(const YAML::Node& node, const char* key) const {
    if (!node.IsScalar() || node.Scalar().empty())
      ThrowInput("{}:{}: expected a word under {}", path_.string(), node.Mark().line + 1, key);
    return node.Scalar();
  }

  const fs::path path_;
  YAML::Node root_;
};

// The file's tables, and those of the options beside them.
std::vector<OpenOptions::Table> Together(const std::string& option, std::vector<OpenOptions::Table> tables,
                                         const std::vector<OpenOptions::Table>& given,
                                         const std::string& file) {
  for (const OpenOptions::Table& table : given) {
    const auto same = std::find_if(tables.begin(), tables.end(),
                                   [&](const OpenOptions::Table& one) { return one.name == table.name; });
    if (same == tables.end()) {
      tables.push_back(table);
    } else if (AbsoluteOf(same->path) != AbsoluteOf(table.path)) {
      ThrowUsage("{} {}={}: {} says {}; leave one of the two out", option, table.name, table.path, file,
                 same->path);
    }
  }
  return tables;
}

std::string OneOf(const std::string& option, const std::string& in_file, const std::string& given,
                  bool from_model, const std::string& file) {
  if (in_file.empty() || in_file == given) return given;
  if (given.empty()) return in_file;
  if (!from_model) ThrowUsage("{} {}: {} says {}; leave one of the two out", option, given, file, in_file);
  return given;
}

}  // namespace

OpenOptions WithSchemaFile(OpenOptions options) {
  if (options.schema.empty()) return options;
  const SchemaFile file(options.schema);
  options.node_tables = Together("--nodes", file.Tables("nodes"), options.node_tables, options.schema);
  options.edge_tables = Together("--edges", file.Tables("edges"), options.edge_tables, options.schema);
  options.label_column =
      OneOf("--label", file.Value("label"), options.label_column, options.label_optional, options.schema);
  options.id_column = OneOf("--id", file.Value("id"), options.id_column, options.id_optional, options.schema);
  if (options.node_tables.empty() || options.edge_tables.empty())
    ThrowInput("{}: expected files under nodes and under edges", options.schema);
  return options;
}

bool DetectSchemaFile(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  if (HasExtension(path, {".yaml", ".yml"})) return true;
  if (!HasExtension(path, {".json"}) || fs::file_size(path, error) > kLargestSchema) return false;
  try {
    const YAML::Node root = YAML::LoadFile(path.string());
    return root.IsMap() && root["nodes"] && root["nodes"].IsMap();
  } catch (const YAML::Exception&) {
    return false;
  }
}

Dataset ReadSchemaFile(const Context& context, const fs::path& path, const OpenOptions& options) {
  OpenOptions of_file = options;
  of_file.schema = path.string();
  Dataset dataset = ReadTypedTables(context, WithSchemaFile(std::move(of_file)));
  dataset.path = path.string();
  dataset.name = path.stem().string();
  return dataset;
}

}  // namespace l2gcn
