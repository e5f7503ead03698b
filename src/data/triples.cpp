#include "data/triples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "core/error_format.h"
#include "data/csv.h"
#include "data/edge_text.h"
#include "data/spellings.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kMostFeatures = int64_t{1} << 31;

constexpr std::array kFeatureNames = {"feature", "feature_id", "column", "col", "attribute", "term", "word"};
constexpr std::array kValueNames = {"value", "val", "weight", "count", "tfidf"};

size_t ColumnCalled(const TableFormat& format, std::span<const char* const> names) {
  for (size_t c = 0; c < format.columns(); ++c) {
    const std::string name = LowerCase(format.names[c]);
    if (std::any_of(names.begin(), names.end(), [&](const char* known) { return name == known; })) return c;
  }
  return kNoTableColumn;
}

struct Triple {
  uint32_t key, feature;
  float value;
  size_t row;
};

// A cell of the current row, for messages.
struct TripleReader {
  const fs::path& path;
  const Table& table;

  std::string_view Cell(size_t row, size_t column) const {
    return TrimBlanks(table.columns[column].text[row]);
  }
  [[noreturn]] void Refuse(size_t row, size_t column, const char* expected) const {
    ThrowInput("{}: row {}: column {}: '{}' is no {}", path.string(), row + 1, table.format.names[column],
               Cell(row, column), expected);
  }
  Triple Read(size_t row, std::array<size_t, 3> columns,
              const std::function<uint32_t(std::string_view)>& key_of) const {
    const auto [node, feature, value] = columns;
    int64_t number = 0;
    float parsed = 0;
    if (Cell(row, node).empty()) Refuse(row, node, "node");
    if (!ParseId(Cell(row, feature), number) || number < 0 || number >= kMostFeatures)
      Refuse(row, feature, "number of a feature; features are numbered from 0");
    if (!ParseNumber(Cell(row, value), parsed) || !std::isfinite(parsed)) Refuse(row, value, "finite number");
    return {key_of(Cell(row, node)), static_cast<uint32_t>(number), parsed, row};
  }
};

}  // namespace

bool HoldsTriples(const TableFormat& format) {
  return format.header && format.columns() == 3 && ColumnCalled(format, kFeatureNames) != kNoTableColumn &&
         ColumnCalled(format, kValueNames) != kNoTableColumn;
}

KeyedRows ReadTriples(const Context& context, const fs::path& path, const TableFormat& format,
                      const std::function<uint32_t(std::string_view)>& key_of) {
  const Table table = ReadTable(context, path, format, {0, 1, 2});
  const size_t feature = ColumnCalled(format, kFeatureNames), value = ColumnCalled(format, kValueNames);
  const TripleReader reader{path, table};
  std::vector<Triple> triples;
  triples.reserve(table.rows);
  for (size_t row = 0; row < table.rows; ++row)
    triples.push_back(reader.Read(row, {3 - feature - value, feature, value}, key_of));
  std::sort(triples.begin(), triples.end(), [](const Triple& a, const Triple& b) {
    return std::tie(a.key, a.feature, a.row) < std::tie(b.key, b.feature, b.row);
  });
  KeyedRows rows;
  for (size_t i = 0; i < triples.size(); ++i) {
    const Triple& own = triples[i];
    const bool new_row = i == 0 || own.key != triples[i - 1].key;
    if (!new_row && own.feature == triples[i - 1].feature)
      ThrowInput("{}: row {}: node {} has a value of feature {} already, in row {}", path.string(),
                 own.row + 1, reader.Cell(own.row, 3 - feature - value), own.feature, triples[i - 1].row + 1);
    if (new_row && i > 0) rows.starts.push_back(i);
    if (new_row) rows.keys.push_back(own.key);
    rows.columns.push_back(own.feature);
    rows.values.push_back(own.value);
    rows.width = std::max(rows.width, own.feature + 1);
  }
  if (!triples.empty()) rows.starts.push_back(triples.size());
  return rows;
}

}  // namespace l2gcn
