// A weight matrix with Adam's moments, in the shape the kernels want: width padded with zeros (which stay
// zero through training), rows a stride apart that spares the cache.
#pragma once

#include <cstring>

#include "kernels/cpu/kernels.h"
#include "l2gcn/array.h"

namespace l2gcn {

struct PaddedWeights {
  size_t rows = 0, cols = 0, stride = 0;
  Array<float> w, m, v;  // (rows × stride) each

  PaddedWeights() = default;
  // `padded_rows` ≥ from_w.rows; the added rows are zero.
  PaddedWeights(const Matrix& from_w, const Matrix& from_m, const Matrix& from_v, size_t padded_rows)
      : rows(padded_rows), cols(from_w.cols), stride(PadStride(from_w.cols)) {
    w = Pad(from_w);
    m = Pad(from_m);
    v = Pad(from_v);
  }

  Array<float> Pad(const Matrix& from) const {
    Array<float> to = Array<float>::Zeros(rows * stride);
    for (size_t i = 0; i < from.rows; ++i) {
      std::memcpy(to.mutable_data() + i * stride, from.row(i), cols * sizeof(float));
    }
    return to;
  }
  Matrix Unpad(const Array<float>& from, size_t true_rows) const {
    Matrix to = Matrix::Allocate(true_rows, cols);
    for (size_t i = 0; i < true_rows; ++i) {
      std::memcpy(to.mutable_row(i), from.data() + i * stride, cols * sizeof(float));
    }
    return to;
  }
};

}  // namespace l2gcn
