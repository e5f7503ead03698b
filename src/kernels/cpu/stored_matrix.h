// A matrix of features as the CPU backend keeps it: dense in f32, f16 or bf16, or sparse.
#pragma once

#include "core/block_pool.h"
#include "kernels/cpu/kernels.h"
#include "l2gcn/array.h"

namespace l2gcn {

// Exactly one of the three arrays is used; copies share memory.
struct StoredMatrix {
  size_t rows = 0, cols = 0;
  bool is_sparse = false;
  FeatureType type = FeatureType::kF32;
  Matrix dense;            // (rows × cols) if dense and f32
  Array<uint16_t> halves;  // (rows × cols) if dense and narrower
  CsrMatrix sparse;        // (rows × cols) if sparse

  StoredMatrix() = default;
  explicit StoredMatrix(Matrix matrix) : rows(matrix.rows), cols(matrix.cols), dense(std::move(matrix)) {}
  explicit StoredMatrix(CsrMatrix matrix)
      : rows(matrix.rows), cols(matrix.cols), is_sparse(true), sparse(std::move(matrix)) {}
  // Uninitialised dense matrix.
  StoredMatrix(BlockPool& pool, size_t r, size_t c, FeatureType t) : rows(r), cols(c), type(t) {
    if (type == FeatureType::kF32) {
      dense = {pool.Allocate<float>(rows * cols), rows, cols};
    } else {
      halves = pool.Allocate<uint16_t>(rows * cols);
    }
  }

  // Dense elements, whatever their type.
  const void* data() const {
    return type == FeatureType::kF32 ? static_cast<const void*>(dense.values.data()) : halves.data();
  }
  void* mutable_data() {
    return type == FeatureType::kF32 ? static_cast<void*>(dense.values.mutable_data())
                                     : halves.mutable_data();
  }
  size_t row_bytes() const { return cols * BytesOf(type); }
  size_t bytes() const { return is_sparse ? sparse.bytes() : rows * row_bytes(); }
};

}  // namespace l2gcn
