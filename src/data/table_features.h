// Turns the columns of a table into features, and remembers how.
//
// A column of numbers is a feature as it is, a column of words has one feature for each level, and a column
// of train / val / test is a split. Missing cells, and the cells of nodes without a row, are marked in a
// feature of their own. Columns without a value, with more than 1000 different words, with another word in
// almost every row, with texts or with many dates are left out, and a note says so.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/table.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

constexpr uint32_t kNoTableRow = ~uint32_t{0};

constexpr size_t kMostLevels = 1000;  // of a column of words that becomes features

// Why a column of words makes no features, from its different words, ascending, and how many cells it fills; empty where it
// does. No more than kMostLevels + 1 words need be given.
std::string WhyNoLevels(std::span<const std::string_view> words, size_t filled);

struct FeatureChoice {
  std::span<const size_t> skip;  // These columns become no features.
  // The columns of these names, and no others, become features whatever they hold; empty: all that can.
  std::span<const std::string> wanted;
};

// `row_of` (nodes) gives each node's row, or kNoTableRow. Fills features, schema and splits of `dataset`.
void TakeTableFeatures(const Context& context, const Table& table, std::span<const uint32_t> row_of,
                       const FeatureChoice& choice, Dataset& dataset);

}  // namespace l2gcn
