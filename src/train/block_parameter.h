// A matrix of a network in training, with its gradient and Adam's moments.
#pragma once

#include <string>

#include "kernels/block_ops.h"
#include "l2gcn/array.h"

namespace l2gcn {

struct Snapshot;

struct BlockParameter {
  std::string name;  // in checkpoints, such as "network.0.1"
  size_t rows = 0, cols = 0;
  size_t width = 0;            // cols, padded with zeros
  bool decays = true;          // weight decay acts on it
  Array<float> w, m, v, grad;  // (rows × width)

  BlockParameter() = default;
  BlockParameter(std::string name, const Matrix& start, bool decays);

  bool empty() const { return rows == 0; }
  const float* row(size_t i) const { return w.data() + i * width; }
  Matrix Value() const { return Unpadded(w); }
  Matrix Gradient() const { return Unpadded(grad); }
  void Set(const Matrix& values);
  void Save(Snapshot& snapshot) const;
  void Restore(const Snapshot& snapshot);

 private:
  Matrix Unpadded(const Array<float>& values) const;
};

}  // namespace l2gcn
