// Names, counts and options of a data set, as text.
#include "l2gcn/dataset.h"

#include <nlohmann/json.hpp>

#include "core/error_format.h"
#include "core/json_text.h"
#include "data/labels.h"
#include "data/table_set.h"

namespace l2gcn {

using Json = nlohmann::ordered_json;

NameTable NameTable::FromStrings(std::span<const std::string> names) {
  NameTable table;
  table.offsets = Array<uint64_t>::Zeros(names.size() + 1);
  uint64_t* offsets = table.offsets.mutable_data();
  for (size_t i = 0; i < names.size(); ++i) offsets[i + 1] = offsets[i] + names[i].size();
  table.text = Array<uint8_t>::Allocate(offsets[names.size()]);
  for (size_t i = 0; i < names.size(); ++i) {
    std::copy(names[i].begin(), names[i].end(), table.text.mutable_data() + offsets[i]);
  }
  return table;
}

uint32_t TableSchema::width() const {
  uint32_t width = 0;
  for (const TableSchema::Column& column : columns) width += column.width();
  return width;
}

std::string Dataset::NodeName(uint32_t node) const {
  if (node < node_names.size()) return std::string(node_names[node]);
  return std::to_string(node < node_ids.size() ? node_ids[node] : int64_t{node});
}

const NodeType* Dataset::TypeOf(uint32_t node) const {
  for (const NodeType& type : node_types) {
    if (type.Holds(node)) return &type;
  }
  return nullptr;
}

bool Dataset::IsPredicted(uint32_t node) const {
  const NodeType* type = TypeOf(node);
  return type == nullptr || type->labelled;
}

uint32_t Dataset::predicted_nodes() const {
  if (node_types.empty()) return nodes();
  uint32_t count = 0;
  for (const NodeType& type : node_types) count += type.labelled ? type.count : 0;
  return count;
}

std::string Dataset::ClassName(uint32_t label) const {
  return label < class_names.size() ? class_names[label] : std::to_string(label);
}

std::string DescribeDatasetJson(const Dataset& dataset) {
  Json json;
  json["name"] = dataset.name;
  json["format"] = dataset.format;
  json["nodes"] = dataset.nodes();
  json["edges"] = dataset.edges;
  for (const Relation& relation : dataset.relations)
    json["relations"].push_back({{"name", relation.name},
                                 {"entries", relation.graph.entries()},
                                 {"directed", relation.graph.directed}});
  json["features"] = dataset.features.cols();
  json["classes"] = dataset.labels.classes;
  json["multilabel"] = dataset.labels.multilabel;
  if (dataset.labels.task() == Task::kRegression) json["task"] = kRegressionTask;
  json["self_loops"] = dataset.self_loops;
  for (const NodeType& type : dataset.node_types) {
    json["node_types"].push_back({{"name", type.name}, {"nodes", type.count}, {"labelled", type.labelled}});
  }
  json["splits"] = Json::array();
  for (const Split& split : dataset.splits) json["splits"].push_back(split.name);
  return JsonText(json);
}

namespace {

// {"user": "users.csv"}
Json TablesToJson(const std::vector<OpenOptions::Table>& tables) {
  Json json = Json::object();
  for (const OpenOptions::Table& table : tables) json[table.name] = table.path;
  return json;
}

std::vector<OpenOptions::Table> TablesFromJson(const Json& json, const char* key) {
  std::vector<OpenOptions::Table> tables;
  if (!json.contains(key)) return tables;
  for (const auto& [name, path] : json.at(key).items()) tables.push_back({name, path.get<std::string>()});
  return tables;
}

}  // namespace

std::string OpenOptionsToJson(const OpenOptions& options) {
  Json json;
  json["format"] = options.format;
  json["data_dir"] = options.data_dir;
  json["directed"] = options.directed;
  json["one_way"] = options.one_way;
  json["keep_self_loops"] = options.keep_self_loops;
  json["largest_component"] = options.largest_component;
  json["min_degree"] = options.min_degree;
  json["synthetic_seed"] = options.synthetic_seed;
  json["edges"] = options.edges;
  json["nodes"] = options.nodes;
  if (!options.node_tables.empty()) json["node_tables"] = TablesToJson(options.node_tables);
  if (!options.edge_tables.empty()) json["edge_tables"] = TablesToJson(options.edge_tables);
  json["schema"] = options.schema;
  json["features"] = options.features;
  json["labels"] = options.labels;
  json["label_column"] = options.label_column;
  json["id_column"] = options.id_column;
  json["source_column"] = options.source_column;
  json["target_column"] = options.target_column;
  json["weight_column"] = options.weight_column;
  json["edge_type_column"] = options.edge_type_column;
  json["missing"] = options.missing;
  json["split_by"] = options.split_by;
  json["edge_features"] = options.edge_features;
  json["no_ids"] = options.no_ids;
  json["allow_unmatched"] = options.allow_unmatched;
  json["task"] = options.task;
  json["sample_weight_column"] = options.sample_weight_column;
  return JsonText(json);
}

void ReuseColumns(const TableSchema& schema, OpenOptions& options) {
  // The last column of a table without labels is a feature. A file of labels has them all the same.
  if (options.label_column.empty() && !schema.empty() && (!schema.label.empty() || options.labels.empty())) {
    options.label_column = schema.label.empty() ? kNoLabelColumn : schema.label;
    options.label_optional = true;
    options.task = schema.regression ? kRegressionTask : kClassificationTask;
  }
  if (options.id_column.empty() && !options.no_ids && !schema.id.empty()) {
    options.id_column = schema.id;
    options.id_optional = true;
  }
  for (const TableSchema::Column& column : schema.columns) options.feature_columns.push_back(column.name);
  options.edge_columns = schema.edge_columns;
}

OpenOptions OpenOptionsFromJson(const std::string& text, const std::string& where) {
  OpenOptions options;
  try {
    const Json json = ParseJson(text, where);
    options.format = json.value("format", options.format);
    options.data_dir = json.value("data_dir", options.data_dir);
    options.directed = json.value("directed", options.directed);
    options.one_way = json.value("one_way", options.directed);  // what earlier versions did
    options.keep_self_loops = json.value("keep_self_loops", options.keep_self_loops);
    options.largest_component = json.value("largest_component", options.largest_component);
    options.min_degree = json.value("min_degree", options.min_degree);
    options.synthetic_seed = json.value("synthetic_seed", options.synthetic_seed);
    options.edges = json.value("edges", options.edges);
    options.nodes = json.value("nodes", options.nodes);
    options.node_tables = TablesFromJson(json, "node_tables");
    options.edge_tables = TablesFromJson(json, "edge_tables");
    options.schema = json.value("schema", options.schema);
    options.features = json.value("features", options.features);
    options.labels = json.value("labels", options.labels);
    options.label_column = json.value("label_column", options.label_column);
    options.id_column = json.value("id_column", options.id_column);
    options.source_column = json.value("source_column", options.source_column);
    options.target_column = json.value("target_column", options.target_column);
    options.weight_column = json.value("weight_column", options.weight_column);
    options.edge_type_column = json.value("edge_type_column", options.edge_type_column);
    options.missing = json.value("missing", options.missing);
    options.split_by = json.value("split_by", options.split_by);
    options.edge_features = json.value("edge_features", options.edge_features);
    options.no_ids = json.value("no_ids", options.no_ids);
    options.allow_unmatched = json.value("allow_unmatched", options.allow_unmatched);
    options.task = json.value("task", options.task);
    options.sample_weight_column = json.value("sample_weight_column", options.sample_weight_column);
  } catch (const Json::exception& error) {
    ThrowInput("{}: the options under which the data set was opened cannot be read: {}", where, error.what());
  }
  return options;
}

}  // namespace l2gcn
