#include "data/table_labels.h"

#include <cmath>
#include <set>

#include "core/error_format.h"
#include "data/csv.h"
#include "data/edge_text.h"
#include "data/table_features.h"

namespace l2gcn {
namespace {

constexpr size_t kFewLabels = 20;  // a label column of more values than this may be none

// Columns of the label table that may be labels.
std::vector<size_t> LabelColumns(const NodeRows& rows) {
  std::vector<size_t> columns;
  for (size_t c = 0; c < rows.table.columns.size(); ++c) {
    if (c != rows.id_column && c != rows.split_column) columns.push_back(c);
  }
  return columns;
}
// 0, 1, or NaN where missing; false if the cell is something else.
bool ZeroOrOne(const ColumnValues& column, size_t row, float& value) {
  value = std::nanf("");
  if (column.numeric) {
    value = column.numbers[row];
  } else if (!IsMissing(column.text[row]) && !ParseNumber(column.text[row], value)) {
    return false;
  }
  return value == 0 || value == 1 || std::isnan(value);
}

Labels OneHotClasses(const Labels& matrix, size_t nodes) {
  Labels labels;
  labels.classes = matrix.classes;
  labels.classes_of = Array<int32_t>::Filled(nodes, -1);
  for (size_t i = 0; i < matrix.matrix.size(); ++i) {
    if (matrix.matrix[i] != 0)
      labels.classes_of.mutable_data()[i / matrix.classes] = static_cast<int32_t>(i % matrix.classes);
  }
  return labels;
}

}  // namespace

std::string LabelColumn::Place() const {
  return fmt::format("{}: column {}", rows.table.path.filename().string(), rows.table.format.names[column]);
}

void AskWhetherLabel(const Context& context, const LabelColumn& label,
                     std::span<const std::string_view> texts) {
  std::set<std::string_view> values;
  size_t labelled = 0, numbers = 0;
  bool fractions = false;
  for (const std::string_view text : texts) {
    float number = 0;
    int64_t whole = 0;
    if (IsMissing(text)) continue;
    ++labelled;
    values.insert(text);
    numbers += ParseNumber(text, number) ? 1 : 0;
    fractions = fractions || !ParseId(text, whole);
  }
  const bool measured = numbers == labelled && fractions;
  const bool mostly_numbers = numbers * 10 >= labelled * 9;
  const bool names = values.size() * 2 > labelled;
  if (values.size() <= kFewLabels || !(mostly_numbers || names)) return;
  // Who names the column has answered already.
  if (!label.named && (measured || names)) {
    ThrowInput(
        "{}: column '{}' has {} different values in {} rows{}: is it the label? Name the column of classes, "
        "or the target of a regression, with --label",
        label.rows.table.path.string(), label.rows.table.format.names[label.column], values.size(), labelled,
        measured ? ", all of them numbers" : "");
  }
  context.Warn(fmt::format(
      "{}: {} different {} in {} rows make {} classes. Is that meant? A quantity is no class: predict it "
      "with --task regression, put it into a few groups, or name another column with --label",
      label.Place(), values.size(), mostly_numbers ? "numbers" : "values", labelled, values.size()));
}

bool HoldsLabelSets(const NodeRows& rows) {
  const std::vector<size_t> columns = LabelColumns(rows);
  if (columns.size() < 2) return false;
  for (const size_t c : columns) {
    for (size_t row = 0; row < rows.table.rows; ++row) {
      float value = 0;
      if (!ZeroOrOne(rows.table.columns[c], row, value)) return false;
    }
  }
  return true;
}

Labels MultilabelOf(const NodeRows& rows, size_t nodes, std::vector<std::string>& class_names) {
  const std::vector<size_t> columns = LabelColumns(rows);
  const size_t classes = columns.size();
  Labels labels;
  labels.multilabel = true;
  labels.classes = static_cast<uint32_t>(classes);
  labels.matrix = Array<uint8_t>::Zeros(nodes * classes);
  Array<uint8_t> labelled = Array<uint8_t>::Zeros(nodes);
  size_t rows_labelled = 0;
  bool one_each = rows.by_position();
  for (size_t node = 0; node < nodes; ++node) {
    const uint32_t row = rows.row_of[node];
    bool filled = row != kNoTableRow;
    size_t ones = 0;
    for (size_t k = 0; filled && k < classes; ++k) {
      float value = 0;
      ZeroOrOne(rows.table.columns[columns[k]], row, value);
      filled = !std::isnan(value);
      labels.matrix.mutable_data()[node * classes + k] = value == 1 ? 1 : 0;
      ones += value == 1 ? 1 : 0;
    }
    labelled.mutable_data()[node] = filled ? 1 : 0;
    rows_labelled += filled ? 1 : 0;
    one_each = one_each && ones == 1;
  }
  if (rows_labelled != nodes) labels.labelled = std::move(labelled);
  const TableFormat& format = rows.table.format;
  bool named = format.header;
  for (size_t k = 0; named && k < classes; ++k) named = format.names[columns[k]] != std::to_string(k);
  for (size_t k = 0; named && k < classes; ++k) class_names.push_back(format.names[columns[k]]);
  return one_each ? OneHotClasses(labels, nodes) : labels;
}

}  // namespace l2gcn
