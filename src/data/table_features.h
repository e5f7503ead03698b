// Columns of a table to features, and what is remembered of them.
//
// Numbers are features as they are, words one feature a level, a column of train / val / test a split.
// Missing cells, and the cells of nodes without a row, are marked in a feature of their own. Left out, with a
// note: columns without a value, with more than 1000 different words, or with another word in almost every
// row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/table.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

constexpr uint32_t kNoTableRow = ~uint32_t{0};

// `row_of` (nodes) gives each node's row, or kNoTableRow. Columns in `skip` are no features. Fills features,
// schema and splits of `dataset`.
void TakeTableFeatures(const Context& context, const Table& table, std::span<const uint32_t> row_of,
                       std::span<const size_t> skip, Dataset& dataset);

}  // namespace l2gcn
