// Splits by a column of the node table: by time, and by group.
//
//   time:COLUMN:a,b,c    the earliest nodes train, the latest test; nodes of one time stay together, in the earlier part
//   group:COLUMN:a,b,c   the nodes of a group stay together; the seed draws which groups go where, and the parts come as
//                        close to their fractions of the nodes as the groups allow
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "data/table.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

bool IsByColumn(const std::string& split);
// KIND:COLUMN of such a split; throws Error(kUsage) where it has no column.
std::string KindAndColumn(const std::string& split);
// The name of the column in `split_by`, which is KIND:COLUMN.
std::string SplitColumnName(const std::string& split_by);

// Keeps column `column` of the table, which was read as text. `row_of` (nodes) gives each node's row, or kNoTableRow.
Split::Column TakeSplitColumn(const std::string& split_by, const Table& table, size_t column,
                              std::span<const uint32_t> row_of);

// Draws such a split of the `labelled` nodes; `shares` are those of train, val and test.
Split DrawByColumn(const Dataset& dataset, const std::string& spec, const std::array<double, 3>& shares,
                   std::span<const uint32_t> labelled, uint64_t seed);

}  // namespace l2gcn
