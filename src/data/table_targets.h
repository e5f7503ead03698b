// Targets of a regression, and weights of nodes, that stand in the columns of a table.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/node_rows.h"
#include "data/table_labels.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// Names by which the header of a table with ids and labels is known.
std::vector<std::string> HintsOf(const OpenOptions& options);

// The columns that --label names: one, the targets of a regression with commas between, or none of "none". Of a model's label,
// which a table may lack in part, it is all or none.
std::vector<size_t> NamedLabelColumns(const TableFormat& format, const std::filesystem::path& path,
                                      const OpenOptions& options);

// Whether every cell that is filled is a number, and some number is not whole.
bool AreMeasurements(std::span<const std::string_view> cells);

// Whether `columns` label columns, of which `first` has these cells, hold targets: the user says so, or the numbers do. A
// column that nobody named must not become a target unasked.
bool AreTargets(const Context& context, const LabelColumn& first, size_t columns,
                std::span<const std::string_view> cells, const OpenOptions& options);

// The columns `targets` of `rows`, whose cells were kept as text. Empty cells are missing targets; words and infinite numbers
// are refused.
Labels TargetsOf(const NodeRows& rows, std::span<const size_t> targets, size_t nodes,
                 std::vector<std::string>& class_names);

// Weights of the nodes in `column`, likewise. Every node that `labels` labels needs one above 0; others have 1.
Array<float> NodeWeightsOf(const NodeRows& rows, size_t column, const Labels& labels, size_t nodes);

}  // namespace l2gcn
