// The one place where the CPU backend gets memory for its matrices. Blocks that were given back are used again
// (core/block_pool.h). Where matrices do not fit into memory, large ones are placed in scratch files.
#pragma once

#include "core/block_pool.h"
#include "core/disk_memory.h"
#include "kernels/cpu/stored_matrix.h"

namespace l2gcn {

class MatrixMemory {
 public:
  MatrixMemory() = default;
  explicit MatrixMemory(std::shared_ptr<DiskMemory> disk) : disk_(std::move(disk)) {}

  // Uninitialised, like all that follows.
  template <class T>
  Array<T> NewArray(size_t size) {
    return disk_ != nullptr ? LargeArray<T>(disk_, size) : pool_.Allocate<T>(size);
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
  std::shared_ptr<DiskMemory> disk_;  // null: all matrices are in memory
  BlockPool pool_;
};

}  // namespace l2gcn
