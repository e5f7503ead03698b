// The operator Â in factored form, so that no value is stored per edge of an unweighted graph:
//
//   (Â x)_i = self_i · x_i + row_i · Σ_{j ∈ N(i)} w_ij · col_j · x_j
//
// A range of its rows is an operator, too: row i then stands for node first_row + i. So are some of its rows: row i
// then stands for node own[i].
//
// Built by graph/normalise.h; read by the aggregation kernels of every device.
#pragma once

#include <cstdint>

#include "l2gcn/array.h"

namespace l2gcn {

struct Propagation {
  uint32_t nodes = 0;       // rows; x has as many, or more if this is RowsOf() another operator
  Array<uint64_t> indptr;   // (nodes + 1)
  Array<uint32_t> indices;  // (entries), ascending within a row
  Array<float> weights;     // (entries) or empty: all 1
  Array<float> row_scale;   // (nodes)
  Array<float> col_scale;   // (rows of x) or empty: all 1
  Array<float> self_scale;  // (nodes)
  uint32_t first_row = 0;   // the node that row 0 stands for
  Array<uint32_t> own;      // (nodes) the node that each row stands for, or empty: first_row + i

  uint64_t entries() const { return indices.size(); }
};

}  // namespace l2gcn
