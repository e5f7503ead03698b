// The one place where the CPU backend gets memory for its matrices. Blocks that were given back are used again
// (core/block_pool.h). A matrix that does not fit into memory could be placed in a file here.
#pragma once

#include "core/block_pool.h"
#include "kernels/cpu/stored_matrix.h"

namespace l2gcn {

class MatrixMemory {
 public:
  // Uninitialised, like all that follows.
  template <class T>
  Array<T> NewArray(size_t size) {
    return pool_.Allocate<T>(size);
  }
  Matrix NewMatrix(size_t rows, size_t cols) { return {NewArray<float>(rows * cols), rows, cols}; }
  StoredMatrix NewStored(size_t rows, size_t cols, FeatureType type) {
    if (type == FeatureType::kF32) return StoredMatrix(NewMatrix(rows, cols));
    StoredMatrix matrix;
    matrix.rows = rows;
    matrix.cols = cols;
    matrix.type = type;
    matrix.halves = NewArray<uint16_t>(rows * cols);
    return matrix;
  }
  // Gives back what is kept for the next matrix.
  void ReleaseSpare() { pool_.Clear(); }

 private:
  BlockPool pool_;
};

}  // namespace l2gcn
