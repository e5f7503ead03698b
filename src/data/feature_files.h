// Feature files that name active columns instead of filling rows: JSON and svmlight.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "l2gcn/array.h"
#include "l2gcn/context.h"

namespace l2gcn {

// Entries of a sparse matrix in the order of the file, each row under a key that is given a node later.
struct KeyedRows {
  std::vector<uint32_t> keys;       // (rows)
  std::vector<uint64_t> starts{0};  // (rows + 1)
  std::vector<uint32_t> columns;    // (entries)
  std::vector<float> values;        // (entries)
  uint32_t width = 0;               // highest column + 1
};

// {"node": [column, …], …}; `key_of` gives a node's id its key. The width is the highest column + 1.
KeyedRows ReadJsonFeatures(const std::filesystem::path& path,
                           const std::function<uint32_t(std::string_view)>& key_of);

// "LABEL column:value …" a line; line k belongs to node k. Columns count from 1 unless a 0 occurs. `labels`
// gets the text of each line's label.
KeyedRows ReadSvmlight(const std::filesystem::path& path, std::vector<std::string>& labels);

// One row a node: rows of `keyed` put at node_of(key), columns ascending; a column named twice counts once, a
// second row of a node is refused.
CsrMatrix ArrangeRows(const KeyedRows& keyed, uint32_t nodes,
                      const std::function<uint32_t(uint32_t)>& node_of, const std::string& where);

}  // namespace l2gcn
