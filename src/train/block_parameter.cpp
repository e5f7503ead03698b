#include "train/block_parameter.h"

#include <algorithm>
#include <utility>

#include "core/error_format.h"
#include "train/snapshot.h"

namespace l2gcn {

BlockParameter::BlockParameter(std::string of, const Matrix& start, bool with_decay)
    : name(std::move(of)),
      rows(start.rows),
      cols(start.cols),
      width(BlockWidth(start.cols)),
      decays(with_decay),
      w(Array<float>::Zeros(rows * width)),
      m(Array<float>::Zeros(rows * width)),
      v(Array<float>::Zeros(rows * width)),
      grad(Array<float>::Zeros(rows * width)) {
  Set(start);
}

void BlockParameter::Set(const Matrix& values) {
  L2GCN_ASSERT(values.rows == rows && values.cols == cols);
  for (size_t i = 0; i < rows; ++i) std::copy_n(values.row(i), cols, w.mutable_data() + i * width);
}

Matrix BlockParameter::Unpadded(const Array<float>& values) const {
  Matrix out = Matrix::Allocate(rows, cols);
  for (size_t i = 0; i < rows; ++i) std::copy_n(values.data() + i * width, cols, out.mutable_row(i));
  return out;
}

void BlockParameter::Save(Snapshot& snapshot) const {
  snapshot.Add(name + ".w", {w, rows, width});
  snapshot.Add(name + ".m", {m, rows, width});
  snapshot.Add(name + ".v", {v, rows, width});
}

void BlockParameter::Restore(const Snapshot& snapshot) {
  w = snapshot.Take(name + ".w", rows, width).values;
  m = snapshot.Take(name + ".m", rows, width).values;
  v = snapshot.Take(name + ".v", rows, width).values;
}

}  // namespace l2gcn
