#include "data/table_schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error_format.h"
#include "core/json_text.h"
#include "core/threads.h"
#include "data/schema_features.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;
// Columns whose medians are taken in one walk over the rows: few where there are many rows, so that memory stays small,
// and many where there are few, so that tables of very many columns are not walked over very often.
constexpr size_t kLeastFittedTogether = 16;
constexpr size_t kCellsFittedTogether = size_t{1} << 18;

float MedianOf(std::vector<float>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Json ColumnToJson(const TableSchema::Column& column) {
  Json json = {{"name", column.name}, {"kind", column.category ? "category" : "number"}};
  if (column.category) json["levels"] = column.levels;
  if (!column.category) json["fill"] = column.fill;
  if (!column.unit.empty()) json["unit"] = column.unit;
  if (!column.node_type.empty()) json["node_type"] = column.node_type;
  json["missing"] = column.missing;
  json["marks_missing"] = column.marks_missing;
  return json;
}

TableSchema::Column ColumnFromJson(const Json& json, const std::string& where) {
  TableSchema::Column column;
  column.name = json.at("name").get<std::string>();
  column.category = json.at("kind").get<std::string>() == "category";
  if (column.category) column.levels = json.at("levels").get<std::vector<std::string>>();
  column.fill = json.value("fill", 0.0f);
  column.unit = json.value("unit", "");
  column.node_type = json.value("node_type", "");
  column.missing = json.value("missing", uint64_t{0});
  column.marks_missing = json.at("marks_missing").get<bool>();
  if (!std::is_sorted(column.levels.begin(), column.levels.end()))
    ThrowInput("{}: the levels of column '{}' do not ascend", where, column.name);
  return column;
}

}  // namespace

std::vector<uint32_t> FirstFeatures(const TableSchema& schema) {
  std::vector<uint32_t> starts;
  uint32_t at = 0;
  for (const TableSchema::Column& column : schema.columns) {
    starts.push_back(at);
    at += column.width();
  }
  return starts;
}

NodeRange RowsWith(const TableSchema::Column& column, const Dataset& dataset) {
  for (const NodeType& type : dataset.node_types) {
    if (type.name == column.node_type) return {type.first, size_t{type.first} + type.count};
  }
  return {0, dataset.features.rows()};
}

TableSchema FitSchema(const Context& context, const Dataset& dataset, std::span<const uint8_t> fit_rows) {
  TableSchema schema = dataset.schema;
  const std::vector<uint32_t> starts = FirstFeatures(schema);
  const Features& features = dataset.features;
  std::vector<uint32_t> numbers;  // the columns of numbers
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    if (!schema.columns[c].category) numbers.push_back(static_cast<uint32_t>(c));
  }
  const size_t together =
      std::max(kLeastFittedTogether, kCellsFittedTogether / std::max<size_t>(1, features.rows()));
  ParallelTasks(context, (numbers.size() + together - 1) / together, [&](size_t batch, uint32_t) {
    const size_t first = batch * together, count = std::min(together, numbers.size() - first);
    std::vector<uint32_t> slot_of(schema.width(), kNoFeature), marked(schema.width(), kNoFeature);
    std::vector<NodeRange> rows_with(count);
    for (size_t k = 0; k < count; ++k) {
      const uint32_t c = numbers[first + k];
      rows_with[k] = RowsWith(schema.columns[c], dataset);
      slot_of[starts[c]] = static_cast<uint32_t>(k);
      if (schema.columns[c].marks_missing) marked[starts[c] + 1] = static_cast<uint32_t>(k);
    }
    std::vector<std::vector<float>> values(count);
    std::vector<float> cells(count);
    std::vector<uint8_t> missing(count);
    for (size_t row = 0; row < features.rows(); ++row) {
      if (!fit_rows.empty() && fit_rows[row] == 0) continue;
      std::fill(cells.begin(), cells.end(), 0.0f);
      std::fill(missing.begin(), missing.end(), uint8_t{0});
      ForEachValue(features, row, [&](uint32_t feature, float value) {
        if (slot_of[feature] != kNoFeature) cells[slot_of[feature]] = value;
        if (marked[feature] != kNoFeature) missing[marked[feature]] = 1;
      });
      for (size_t k = 0; k < count; ++k) {
        if (missing[k] == 0 && rows_with[k].Holds(row)) values[k].push_back(cells[k]);
      }
    }
    for (size_t k = 0; k < count; ++k) schema.columns[numbers[first + k]].fill = MedianOf(values[k]);
  });
  return schema;
}

std::vector<uint8_t> NumberFeatures(const TableSchema& schema) {
  std::vector<uint8_t> numbers(schema.width(), 0);
  const std::vector<uint32_t> starts = FirstFeatures(schema);
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    if (!schema.columns[c].category) numbers[starts[c]] = 1;
  }
  return numbers;
}

std::string FeatureName(const TableSchema& schema, size_t feature) {
  size_t end = 0;
  for (const TableSchema::Column& column : schema.columns) {
    end += column.width();
    if (feature < end) return fmt::format("column '{}'", column.name);
  }
  return fmt::format("feature {}", feature);
}

std::string SchemaToJson(const TableSchema& schema) {
  Json json;
  json["label"] = schema.label;
  if (schema.regression) json["regression"] = true;
  json["id"] = schema.id;
  json["columns"] = Json::array();
  for (const TableSchema::Column& column : schema.columns) json["columns"].push_back(ColumnToJson(column));
  for (const TableSchema::Column& column : schema.edge_columns)
    json["edge_columns"].push_back(ColumnToJson(column));
  json["ignored"] = schema.ignored;
  return json.dump();
}

TableSchema SchemaFromJson(const std::string& text, const std::string& where) {
  TableSchema schema;
  try {
    const Json json = ParseJson(text, where);
    schema.label = json.value("label", "");
    schema.regression = json.value("regression", false);
    schema.id = json.value("id", "");
    schema.ignored = json.value("ignored", std::vector<std::string>());
    for (const Json& one : json.at("columns")) schema.columns.push_back(ColumnFromJson(one, where));
    for (const Json& one : json.value("edge_columns", Json::array()))
      schema.edge_columns.push_back(ColumnFromJson(one, where));
  } catch (const Json::exception& error) {
    ThrowInput("{}: its table cannot be read: {}", where, error.what());
  }
  return schema;
}

}  // namespace l2gcn
