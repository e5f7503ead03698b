#include "data/node_rows.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "core/error_format.h"
#include "data/csv.h"
#include "data/edge_text.h"
#include "data/spellings.h"
#include "data/split_columns.h"
#include "data/table_numbers.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

bool IsIdName(const std::string& name) {
  const std::string lower = LowerCase(name);
  for (const char* known : {"id", "node", "node_id", "nodeid"}) {
    if (lower == known) return true;
  }
  return false;
}

bool Contains(std::span<const size_t> columns, size_t column) {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

// The user's, else a column called id, else the first; none where rows are nodes in order.
size_t IdColumnOf(const Context& context, const fs::path& path, const TableFormat& format,
                  std::span<const size_t> labels, const OpenOptions& options) {
  if (options.no_ids && !options.id_column.empty()) ThrowUsage("--no-ids and --id exclude each other");
  if (!options.id_column.empty()) {
    const size_t named = FindColumn(format, options.id_column);
    if (named != kNoTableColumn) return named;
    if (!options.id_optional) return ColumnNamed(format, path, "--id", options.id_column);
  }
  if (options.no_ids || format.columns() == 1) return kNoTableColumn;
  if (!format.header || IsIdName(format.names[0])) return 0;
  const auto named = std::find_if(format.names.begin(), format.names.end(), IsIdName);
  if (named == format.names.end()) return 0;
  const auto column = static_cast<size_t>(named - format.names.begin());
  if (Contains(labels, column)) return 0;
  if (!format.names[0].empty()) return column;
  context.Note(
      fmt::format("{}: ids are in column {}; the column without a name counts the rows and is left out",
                  path.filename().string(), *named));
  return column;
}

// Whether the cells of the id column are whole numbers, each once.
bool HoldsIds(const NodeRows& rows) {
  std::unordered_set<int64_t> seen;
  for (size_t row = 0; row < rows.table.rows; ++row) {
    int64_t id = 0;
    if (!ParseId(rows.Id(row), id) || !seen.insert(id).second) return false;
  }
  return true;
}

}  // namespace

NodeRows ReadNodeRows(const Context& context, const fs::path& path, const TableFormat& format,
                      std::span<const size_t> labels, const OpenOptions& options,
                      std::span<const std::string> words) {
  NodeRows rows;
  rows.id_column = IdColumnOf(context, path, format, labels, options);
  const size_t split_column = FindColumn(format, SplitColumnName(options.split_by));
  if (!options.split_by.empty() && split_column != rows.id_column && !Contains(labels, split_column))
    rows.split_column = split_column;
  std::vector<size_t> as_text(labels.begin(), labels.end());
  as_text.insert(as_text.end(), {rows.id_column, rows.split_column});
  for (const std::string& name : words) as_text.push_back(FindColumn(format, name));
  std::erase(as_text, kNoTableColumn);
  rows.table = ReadTable(context, path, format, as_text, ListedWords(options.missing, rows.id_column));
  if (rows.table.rows == 0) ThrowInput("{}: holds a header and no rows", path.string());
  const bool id_is_guess = options.id_column.empty() || options.id_optional;
  if (!rows.by_position() && format.numbers_alone && id_is_guess && !HoldsIds(rows)) {
    std::erase(as_text, rows.id_column);
    rows.id_column = kNoTableColumn;
    rows.table = ReadTable(context, path, format, as_text, ListedWords(options.missing, rows.id_column));
  }
  TakeForNumbers(context, as_text, rows.table);
  return rows;
}

std::vector<size_t> ColumnsWithoutFeatures(const NodeRows& rows, std::span<const size_t> labels) {
  std::vector<size_t> columns(labels.begin(), labels.end());
  columns.insert(columns.end(), {rows.id_column, rows.split_column});
  const TableFormat& format = rows.table.format;
  if (format.header && format.names[0].empty() && rows.id_column != 0) columns.push_back(0);
  return columns;
}

void RefuseRowWithoutId(const NodeRows& rows, size_t row) {
  ThrowInput("{}: row {} has no id in column {}", rows.table.path.string(), row + 1,
             rows.table.format.names[rows.id_column]);
}

void RefuseRepeatedId(const NodeRows& rows, size_t row) {
  ThrowInput(
      "{}: row {}: the id {} stands twice in column {}; name another column with --id, or --no-ids if row k "
      "is "
      "node k",
      rows.table.path.string(), row + 1, rows.Id(row), rows.table.format.names[rows.id_column]);
}

}  // namespace l2gcn
