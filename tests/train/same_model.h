// Whether two trained models are the same, bit by bit: weights, heads and how they are read out.
#pragma once

#include <cstring>

#include "l2gcn/train.h"

namespace l2gcn {

inline bool SameBits(const Matrix& a, const Matrix& b) {
  return a.rows == b.rows && a.cols == b.cols &&
         (a.bytes() == 0 || std::memcmp(a.values.data(), b.values.data(), a.bytes()) == 0);
}

inline bool SameHead(const Head& a, const Head& b) {
  return SameBits(a.hidden, b.hidden) && SameBits(a.hidden_affine, b.hidden_affine) &&
         SameBits(a.theta, b.theta) && SameBits(a.bias, b.bias);
}

inline bool SameModel(const Model& a, const Model& b) {
  if (a.weights.size() != b.weights.size() || a.affines.size() != b.affines.size() ||
      a.heads.size() != b.heads.size())
    return false;
  bool same = a.mean_of_layers == b.mean_of_layers &&
              a.label_propagation.correct == b.label_propagation.correct &&
              a.label_propagation.smooth == b.label_propagation.smooth && SameBits(a.theta, b.theta);
  for (size_t l = 0; l < a.weights.size(); ++l) same = same && SameBits(a.weights[l], b.weights[l]);
  for (size_t l = 0; l < a.affines.size(); ++l) same = same && SameBits(a.affines[l], b.affines[l]);
  for (size_t l = 0; l < a.heads.size(); ++l) same = same && SameHead(a.heads[l], b.heads[l]);
  return same;
}

}  // namespace l2gcn
