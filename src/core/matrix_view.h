#pragma once

#include <cstddef>

namespace l2gcn {

// Row-major view; `stride` elements lie between the starts of two rows.
template <class T>
struct MatrixView {
  T* data = nullptr;
  size_t rows = 0;
  size_t cols = 0;
  size_t stride = 0;

  T* row(size_t i) const { return data + i * stride; }
};

}  // namespace l2gcn
