// What a trained layer consists of: a hidden layer, which makes the next layer's input, and a head, which makes logits.
#pragma once

#include "l2gcn/array.h"
#include "l2gcn/choices.h"

namespace l2gcn {

// A hidden layer: ReLU of the product X̂W after a bias or a norm. Matrices that a layer does not have are empty.
struct HiddenParameters {
  Matrix weight;                     // (D × H)
  Matrix bias;                       // (1 × H)
  Matrix norm_weight, norm_bias;     // (1 × H) each
  Matrix running_mean, running_var;  // (1 × H) each, of batch norm

  HiddenParameters() = default;
  HiddenParameters(Matrix w) : weight(std::move(w)) {}  // NOLINT: a matrix is a basic layer

  HiddenNorm norm() const {
    if (norm_weight.rows == 0) return HiddenNorm::kNone;
    return running_mean.rows == 0 ? HiddenNorm::kLayer : HiddenNorm::kBatch;
  }
  // Whether the layer is ReLU(X̂W) and no more.
  bool basic() const { return bias.rows == 0 && norm_weight.rows == 0; }
};

// How a layer's output becomes logits: a hidden layer where it has a weight, then Θ and a bias.
struct Head {
  HiddenParameters hidden;  // weight (H × M), or empty
  Matrix theta;             // (M or H × classes)
  Matrix bias;              // (1 × classes), or empty
};

}  // namespace l2gcn
