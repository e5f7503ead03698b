#pragma once

#include <cstdint>
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

}  // namespace l2gcn
