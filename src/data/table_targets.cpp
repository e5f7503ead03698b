#include "data/table_targets.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "core/error_format.h"
#include "data/csv.h"
#include "data/edge_text.h"
#include "data/labels.h"
#include "data/split_columns.h"
#include "data/table_features.h"
#include "data/table_set.h"

namespace l2gcn {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

// File, row and column, for messages.
std::string PlaceOfCell(const NodeRows& rows, size_t row, size_t column) {
  return fmt::format("{}: row {}: column '{}'", rows.table.path.string(), row + 1,
                     rows.table.format.names[column]);
}

// NaN where the cell is empty.
float NumberIn(const NodeRows& rows, size_t row, size_t column, const char* needed_for) {
  const std::string_view text = TrimBlanks(rows.table.columns[column].text[row]);
  float number = kMissing;
  if (IsMissing(text)) return number;
  if (!ParseNumber(text, number)) {
    ThrowInput(
        "{} holds '{}'; {} needs numbers, and empty cells where a number is missing (--missing WORD "
        "names other words for that)",
        PlaceOfCell(rows, row, column), text, needed_for);
  }
  if (std::isinf(number)) {
    ThrowInput("{} holds {}, which is infinite as a 32-bit float; leave the cell empty, or scale the column",
               PlaceOfCell(rows, row, column), text);
  }
  return number;
}

}  // namespace

std::vector<std::string> HintsOf(const OpenOptions& options) {
  std::vector<std::string> names = {options.id_column, SplitColumnName(options.split_by)};
  if (options.label_column != kNoLabelColumn) names.push_back(options.label_column);
  std::stringstream parts(options.label_column);
  for (std::string part; std::getline(parts, part, ',');) {
    if (part != kNoLabelColumn) names.push_back(part);
  }
  return names;
}

std::vector<size_t> NamedLabelColumns(const TableFormat& format, const std::filesystem::path& path,
                                      const OpenOptions& options) {
  const std::string& label = options.label_column;
  if (const size_t whole = FindColumn(format, label); whole != kNoTableColumn) return {whole};
  if (label == kNoLabelColumn) return {};
  std::vector<size_t> columns;
  std::stringstream names(label);
  for (std::string name; std::getline(names, name, ',');) {
    const size_t column =
        options.label_optional ? FindColumn(format, name) : ColumnNamed(format, path, "--label", name);
    if (column == kNoTableColumn) return {};
    if (std::find(columns.begin(), columns.end(), column) != columns.end())
      ThrowUsage("--label {}: column {} stands twice", label, name);
    columns.push_back(column);
  }
  return columns;
}

bool AreMeasurements(std::span<const std::string_view> cells) {
  bool fractions = false;
  for (const std::string_view cell : cells) {
    const std::string_view text = TrimBlanks(cell);
    float number = 0;
    int64_t whole = 0;
    if (IsMissing(text)) continue;
    if (!ParseNumber(text, number)) return false;
    fractions = fractions || !ParseId(text, whole);
  }
  return fractions;
}

bool AreTargets(const Context& context, const LabelColumn& first, size_t columns,
                std::span<const std::string_view> cells, const OpenOptions& options) {
  if (!options.task.empty()) {
    if (options.task == kClassificationTask && columns > 1)
      ThrowUsage("--label {}: several columns are targets of a regression; name one for --task {}",
                 options.label_column, options.task);
    return options.task == kRegressionTask;
  }
  if (columns > 1) return true;
  if (!AreMeasurements(cells)) return false;
  if (!first.named) AskWhetherLabel(context, first, cells);
  context.Note(
      fmt::format("{}: numbers that are not whole: the targets of a regression; --task classification makes "
                  "them classes",
                  first.Place()));
  return true;
}

Labels TargetsOf(const NodeRows& rows, std::span<const size_t> targets, size_t nodes,
                 std::vector<std::string>& class_names) {
  Labels labels;
  labels.classes = static_cast<uint32_t>(targets.size());
  labels.targets = Matrix::Allocate(nodes, targets.size());
  for (size_t node = 0; node < nodes; ++node) {
    const uint32_t row = rows.row_of[node];
    float* out = labels.targets.mutable_row(node);  // (targets)
    for (size_t c = 0; c < targets.size(); ++c)
      out[c] = row == kNoTableRow ? kMissing : NumberIn(rows, row, targets[c], "a regression");
  }
  for (const size_t column : targets) class_names.push_back(rows.table.format.names[column]);
  return labels;
}

Array<float> NodeWeightsOf(const NodeRows& rows, size_t column, const Labels& labels, size_t nodes) {
  Array<float> weights = Array<float>::Filled(nodes, 1.0f);
  for (uint32_t node = 0; node < nodes; ++node) {
    const uint32_t row = rows.row_of[node];
    if (row == kNoTableRow || !labels.IsLabelled(node)) continue;
    const float weight = NumberIn(rows, row, column, "--sample-weight");
    if (!(weight > 0))
      ThrowInput("{} holds '{}'; a sample weight must be above 0", PlaceOfCell(rows, row, column),
                 rows.table.columns[column].text[row]);
    weights.mutable_data()[node] = weight;
  }
  return weights;
}

}  // namespace l2gcn
