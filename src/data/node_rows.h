#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/table.h"

namespace l2gcn {

// A table whose rows belong to nodes: by an id, or by their order.
struct NodeRows {
  Table table;
  size_t id_column = kNoTableColumn;     // none: row k is node k
  size_t split_column = kNoTableColumn;  // by which splits are drawn; it is neither feature nor label
  std::vector<uint32_t> row_of;  // (nodes) row of each node, or kNoTableRow; once the nodes are numbered

  bool by_position() const { return id_column == kNoTableColumn; }
  std::string_view Id(size_t row) const { return table.columns[id_column].text[row]; }
};

// Reads such a table. The ids are in the column that the user names, else in one called id, else in the first. The cells of
// the columns `labels`, those of labels and sample weights, and `words` stay text.
NodeRows ReadNodeRows(const Context& context, const std::filesystem::path& path, const TableFormat& format,
                      std::span<const size_t> labels, const OpenOptions& options,
                      std::span<const std::string> words = {});

// The columns that become no features: ids, labels and sample weights, what splits are drawn by, and a row number that a program put before the
// ids.
std::vector<size_t> ColumnsWithoutFeatures(const NodeRows& rows, std::span<const size_t> labels);

[[noreturn]] void RefuseRowWithoutId(const NodeRows& rows, size_t row);
[[noreturn]] void RefuseRepeatedId(const NodeRows& rows, size_t row);

}  // namespace l2gcn
