// A matrix of features as the CPU backend keeps it: dense in f32, f16 or bf16, or sparse; a dense one may
// still have to be prepared when its rows are read.
#pragma once

#include "kernels/cpu/kernels.h"
#include "l2gcn/array.h"
#include "l2gcn/features.h"

namespace l2gcn {

// Exactly one of the three arrays is used; copies share memory.
struct StoredMatrix {
  size_t rows = 0, cols = 0;
  bool is_sparse = false;
  FeatureType type = FeatureType::kF32;
  Matrix dense;            // (rows × cols) if dense and f32
  Array<uint16_t> halves;  // (rows × cols) if dense and narrower
  CsrMatrix sparse;        // (rows × cols) if sparse
  Features source;         // if prepared: the same elements with their preparation, which keeps rows dense

  StoredMatrix() = default;
  explicit StoredMatrix(Matrix matrix) : rows(matrix.rows), cols(matrix.cols), dense(std::move(matrix)) {}
  explicit StoredMatrix(CsrMatrix matrix)
      : rows(matrix.rows), cols(matrix.cols), is_sparse(true), sparse(std::move(matrix)) {}
  // Dense features without projection, as they lie.
  explicit StoredMatrix(const Features& features)
      : rows(features.rows()), cols(features.cols()), type(features.type()) {
    if (type == FeatureType::kF32) dense = features.matrix();
    if (type != FeatureType::kF32) halves = features.halves();
    if (features.preparation() != nullptr) source = features;
  }

  // Whether elements are not yet what they stand for.
  bool prepared() const { return source.preparation() != nullptr; }
  // Dense elements, whatever their type, before preparation.
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
