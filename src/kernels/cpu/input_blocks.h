// A layer's input as the CPU reads it, blocks side by side: the sparse ones as one sparse matrix, then the dense ones, each where it lies. So X and
// its aggregations make one wide input without being copied, and each is as sparse or dense as it is best.
#pragma once

#include <vector>

#include "kernels/cpu/stored_matrix.h"

namespace l2gcn {

struct InputBlocks {
  size_t rows = 0, cols = 0;
  CsrMatrix sparse;                 // (rows × sparse.cols): the first columns; no columns: none
  std::vector<StoredMatrix> dense;  // the others, in order; none of them prepared when training begins

  InputBlocks() = default;
  explicit InputBlocks(const StoredMatrix& single) : rows(single.rows), cols(single.cols) {
    if (single.is_sparse) {
      sparse = single.sparse;
    } else {
      dense.push_back(single);
    }
  }

  // The matrix that a basic layer's input consists of.
  StoredMatrix single() const { return dense.empty() ? StoredMatrix(sparse) : dense.front(); }
  size_t dense_cols() const { return cols - sparse.cols; }
  size_t bytes() const {
    size_t sum = sparse.cols > 0 ? sparse.bytes() : 0;
    for (const StoredMatrix& part : dense) sum += part.bytes();
    return sum;
  }
};

// The columns of `parts` one after another; all have as many rows.
CsrMatrix ConcatenateSparse(const std::vector<const CsrMatrix*>& parts);

}  // namespace l2gcn
