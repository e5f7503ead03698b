#include "data/table_schema.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/error_format.h"
#include "core/json_text.h"
#include "core/threads.h"
#include "data/csv.h"
#include "l2gcn/config.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;
constexpr uint32_t kNoFeature = ~uint32_t{0};
constexpr size_t kSchemaRows = 512;
constexpr size_t kToldCategories = 3;
// Columns whose medians are taken in one walk over the rows: few where there are many rows, so that memory stays small,
// and many where there are few, so that tables of very many columns are not walked over very often.
constexpr size_t kLeastFittedTogether = 16;
constexpr size_t kCellsFittedTogether = size_t{1} << 18;

// The first feature of each column.
std::vector<uint32_t> Starts(const TableSchema& schema) {
  std::vector<uint32_t> starts;
  uint32_t at = 0;
  for (const TableColumn& column : schema.columns) {
    starts.push_back(at);
    at += column.width();
  }
  return starts;
}

// visit(feature, value) for the values of a row that are not zero, in ascending order.
template <class Visit>
void ForEachValue(const Features& features, size_t row, const Visit& visit) {
  if (features.stores_sparse()) {
    const CsrMatrix& csr = features.csr();
    for (uint64_t e = csr.indptr[row]; e < csr.indptr[row + 1]; ++e) visit(csr.indices[e], csr.values[e]);
    return;
  }
  std::vector<float> widened(features.type() == FeatureType::kF32 ? 0 : features.cols());
  const float* values = features.ReadColumns(row, 0, features.cols(), widened.data());
  for (size_t c = 0; c < features.cols(); ++c) {
    if (values[c] != 0) visit(static_cast<uint32_t>(c), values[c]);
  }
}

float MedianOf(std::vector<float>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::vector<std::string> NamesOf(const TableSchema& schema) {
  std::vector<std::string> names;
  for (const TableColumn& column : schema.columns) names.push_back(column.name);
  return names;
}

std::string WhereOf(const Dataset& dataset) { return dataset.path.empty() ? dataset.name : dataset.path; }

// How the features of a data set become those of a schema.
class SchemaMap {
 public:
  SchemaMap(const TableSchema& schema, const Dataset& dataset)
      : schema_(schema), dataset_(dataset), to_(dataset.features.cols(), kNoFeature) {
    for (size_t c = 0; c < dataset.schema.columns.size(); ++c)
      their_columns_.emplace(dataset.schema.columns[c].name, c);
    CheckNames();
    const std::vector<uint32_t> ours = Starts(schema), theirs = Starts(dataset.schema);
    for (size_t c = 0; c < schema.columns.size(); ++c) {
      const size_t other = Find(schema.columns[c].name);
      MapColumn(schema.columns[c], ours[c], dataset.schema.columns[other], theirs[other]);
    }
  }

  // Whether nothing has to be moved or filled.
  bool IsIdentity() const {
    if (to_.size() != schema_.width() || !fills_.empty() || !numbers_to_levels_.empty()) return false;
    for (uint32_t f = 0; f < to_.size(); ++f) {
      if (to_[f] != f) return false;
    }
    return true;
  }

  // put(feature, value) for each value of the row that is not zero, in any order.
  template <class Put>
  void ApplyTo(size_t row, const Put& put) const {
    std::map<uint32_t, float> numbers;  // what stands in columns that hold numbers here and categories there
    for (const auto& [feature, levels] : numbers_to_levels_) numbers[feature] = 0;
    ForEachValue(dataset_.features, row, [&](uint32_t feature, float value) {
      if (to_[feature] != kNoFeature) put(to_[feature], value);
      const auto fill = fills_.find(feature);
      if (fill != fills_.end() && fill->second.value != 0) put(fill->second.feature, fill->second.value);
      const auto number = numbers.find(feature);
      if (number != numbers.end()) number->second = value;
      if (skip_.contains(feature)) numbers.erase(skip_.at(feature));
    });
    for (const auto& [feature, value] : numbers) {
      const auto& levels = numbers_to_levels_.at(feature);
      const auto level = levels.find(value);
      if (level != levels.end()) put(level->second, 1.0f);
    }
  }

  // Says how many cells hold categories that the schema does not know.
  void NoteUnseen(const Context& context) const {
    std::vector<uint64_t> counts(to_.size(), 0);
    for (size_t row = 0; row < dataset_.features.rows(); ++row) {
      ForEachValue(dataset_.features, row, [&](uint32_t feature, float) { ++counts[feature]; });
    }
    const std::vector<uint32_t> starts = Starts(dataset_.schema);
    for (size_t c = 0; c < dataset_.schema.columns.size(); ++c) {
      const TableColumn& column = dataset_.schema.columns[c];
      if (!column.category) continue;
      uint64_t cells = 0;
      std::vector<std::string> examples;
      for (uint32_t level = 0; level < column.width(); ++level) {
        if (to_[starts[c] + level] != kNoFeature || counts[starts[c] + level] == 0) continue;
        cells += counts[starts[c] + level];
        if (examples.size() < kToldCategories)
          examples.push_back(level < column.levels.size() ? column.levels[level] : "missing");
      }
      if (cells == 0) continue;
      context.Note(
          fmt::format("{}: column {}: {} cell{} of categories the model has not seen count as other ({}{})",
                      dataset_.name, column.name, cells, cells == 1 ? "" : "s", fmt::join(examples, ", "),
                      examples.size() == kToldCategories ? ", …" : ""));
    }
  }

 private:
  struct Fill {
    uint32_t feature;
    float value;
  };

  size_t Find(const std::string& name) const {
    if (const auto found = their_columns_.find(name); found != their_columns_.end()) return found->second;
    const std::vector<std::string> names = NamesOf(dataset_.schema);
    const std::string nearest = NearestName(name, names);
    ThrowInput("{}: column '{}' is missing{}; the model was trained on {}, the table has {}",
               WhereOf(dataset_), name, nearest.empty() ? "" : fmt::format(" (is it {}?)", nearest),
               fmt::join(NamesOf(schema_), ", "), fmt::join(names, ", "));
  }

  void CheckNames() const {
    const std::vector<std::string> known = NamesOf(schema_);
    for (const std::string& name : known) Find(name);
    std::unordered_set<std::string_view> ours(known.begin(), known.end());
    ours.insert(schema_.ignored.begin(), schema_.ignored.end());
    ours.insert(schema_.label);
    for (const TableColumn& column : dataset_.schema.columns) {
      if (ours.contains(column.name)) continue;
      ThrowInput(
          "{}: column '{}' is one too many; the model was trained on {}. Take it out; if it is the label, "
          "name it with --label",
          WhereOf(dataset_), column.name, fmt::join(known, ", "));
    }
  }

  void MapColumn(const TableColumn& ours, uint32_t first, const TableColumn& theirs, uint32_t their_first) {
    const uint32_t mark = ours.marks_missing ? first + ours.width() - 1 : kNoFeature;
    const uint32_t their_mark = theirs.marks_missing ? their_first + theirs.width() - 1 : kNoFeature;
    if (their_mark != kNoFeature) to_[their_mark] = mark;
    if (ours.category && theirs.category) {
      for (uint32_t level = 0; level < theirs.levels.size(); ++level) {
        const auto found = std::lower_bound(ours.levels.begin(), ours.levels.end(), theirs.levels[level]);
        if (found != ours.levels.end() && *found == theirs.levels[level])
          to_[their_first + level] = first + static_cast<uint32_t>(found - ours.levels.begin());
      }
      return;
    }
    if (!ours.category && theirs.category && !theirs.levels.empty()) {
      ThrowInput("{}: column '{}' holds words ('{}'), but the model was trained on numbers there",
                 WhereOf(dataset_), ours.name, theirs.levels[0]);
    }
    if (!ours.category) {
      if (!theirs.category) to_[their_first] = first;
      if (their_mark != kNoFeature) fills_[their_mark] = {first, ours.fill};
      return;
    }
    std::map<float, uint32_t>& levels = numbers_to_levels_[their_first];
    for (uint32_t level = 0; level < ours.levels.size(); ++level) {
      float number = 0;
      if (ParseNumber(ours.levels[level], number)) levels.emplace(number, first + level);
    }
    if (their_mark != kNoFeature) skip_[their_mark] = their_first;
  }

  const TableSchema& schema_;
  const Dataset& dataset_;
  std::unordered_map<std::string_view, size_t> their_columns_;  // the first column of each name
  // "Their" features are the data set's, "ours" the schema's.
  std::vector<uint32_t> to_;        // (their features) ours, or kNoFeature
  std::map<uint32_t, Fill> fills_;  // from their mark of a missing cell to what is put where
  std::map<uint32_t, std::map<float, uint32_t>>
      numbers_to_levels_;              // from their number to each value's level
  std::map<uint32_t, uint32_t> skip_;  // from their mark of a missing cell to the number it speaks of
};

}  // namespace

TableSchema FitSchema(const Context& context, const Dataset& dataset, std::span<const uint8_t> fit_rows) {
  TableSchema schema = dataset.schema;
  const std::vector<uint32_t> starts = Starts(schema);
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
    for (size_t k = 0; k < count; ++k) {
      const uint32_t c = numbers[first + k];
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
        if (missing[k] == 0) values[k].push_back(cells[k]);
      }
    }
    for (size_t k = 0; k < count; ++k) schema.columns[numbers[first + k]].fill = MedianOf(values[k]);
  });
  return schema;
}

Features ApplySchema(const Context& context, const TableSchema& schema, const Dataset& dataset) {
  if (schema.empty() || dataset.schema.empty()) return dataset.features;
  const SchemaMap map(schema, dataset);
  if (map.IsIdentity()) return dataset.features;
  map.NoteUnseen(context);
  const size_t rows = dataset.features.rows(), width = schema.width();
  if (!dataset.features.stores_sparse()) {
    Matrix dense = Matrix::Zeros(rows, width);
    float* const values = dense.values.mutable_data();
    ParallelFor(context, rows, kSchemaRows, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        map.ApplyTo(row, [&](uint32_t feature, float value) { values[row * width + feature] = value; });
      }
    });
    return Features::Dense(std::move(dense));
  }
  std::vector<uint32_t> indices;
  std::vector<float> values;
  std::vector<std::pair<uint32_t, float>> entries;
  CsrMatrix sparse;
  sparse.rows = rows;
  sparse.cols = width;
  sparse.indptr = Array<uint64_t>::Zeros(rows + 1);
  uint64_t* const indptr = sparse.indptr.mutable_data();
  for (size_t row = 0; row < rows; ++row) {
    entries.clear();
    map.ApplyTo(row, [&](uint32_t feature, float value) { entries.emplace_back(feature, value); });
    std::sort(entries.begin(), entries.end());
    for (const auto& [feature, value] : entries) {
      indices.push_back(feature);
      values.push_back(value);
    }
    indptr[row + 1] = indices.size();
  }
  sparse.indices = Array<uint32_t>::CopyOf(indices);
  sparse.values = Array<float>::CopyOf(values);
  return Features::Sparse(std::move(sparse));
}

std::vector<uint8_t> NumberFeatures(const TableSchema& schema) {
  std::vector<uint8_t> numbers(schema.width(), 0);
  const std::vector<uint32_t> starts = Starts(schema);
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    if (!schema.columns[c].category) numbers[starts[c]] = 1;
  }
  return numbers;
}

std::string FeatureName(const TableSchema& schema, size_t feature) {
  size_t end = 0;
  for (const TableColumn& column : schema.columns) {
    end += column.width();
    if (feature < end) return fmt::format("column '{}'", column.name);
  }
  return fmt::format("feature {}", feature);
}

std::string SchemaToJson(const TableSchema& schema) {
  Json json;
  json["label"] = schema.label;
  json["columns"] = Json::array();
  for (const TableColumn& column : schema.columns) {
    Json one = {{"name", column.name}, {"kind", column.category ? "category" : "number"}};
    if (column.category) one["levels"] = column.levels;
    if (!column.category) one["fill"] = column.fill;
    one["missing"] = column.missing;
    one["marks_missing"] = column.marks_missing;
    json["columns"].push_back(std::move(one));
  }
  json["ignored"] = schema.ignored;
  return json.dump();
}

TableSchema SchemaFromJson(const std::string& text, const std::string& where) {
  TableSchema schema;
  try {
    const Json json = ParseJson(text, where);
    schema.label = json.value("label", "");
    schema.ignored = json.value("ignored", std::vector<std::string>());
    for (const Json& one : json.at("columns")) {
      TableColumn column;
      column.name = one.at("name").get<std::string>();
      column.category = one.at("kind").get<std::string>() == "category";
      if (column.category) column.levels = one.at("levels").get<std::vector<std::string>>();
      column.fill = one.value("fill", 0.0f);
      column.missing = one.value("missing", uint64_t{0});
      column.marks_missing = one.at("marks_missing").get<bool>();
      if (!std::is_sorted(column.levels.begin(), column.levels.end()))
        ThrowInput("{}: the levels of column '{}' do not ascend", where, column.name);
      schema.columns.push_back(std::move(column));
    }
  } catch (const Json::exception& error) {
    ThrowInput("{}: its table cannot be read: {}", where, error.what());
  }
  return schema;
}

}  // namespace l2gcn
