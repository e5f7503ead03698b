// The validation score of a layer still in training, for policies that watch it. Keeps the whole graph's
// activations beside the training's own, because validation nodes lie outside an inductive train graph.
#pragma once

#include <span>
#include <vector>

#include "graph/normalise.h"
#include "kernels/backend.h"
#include "l2gcn/dataset.h"
#include "train/stop_policy.h"

namespace l2gcn {

// Both scores of picked nodes; row i of logits belongs to nodes[i].
ValidationScore ScoreNodes(const Context& context, const Labels& labels, std::span<const uint32_t> nodes,
                           const Matrix& logits);

class ValidationProbe {
 public:
  // x: features of every node; hops: times a layer aggregates. Throws Error(kUsage) if the split has no
  // validation node.
  ValidationProbe(const Context& context, Backend& backend, const Dataset& dataset, const Split& split,
                  Norm norm, uint32_t hops, TensorPtr x);
  // Aggregates for the validation nodes. After the last layer's no activations of other nodes are kept.
  void BeginLayer(bool last);
  // Micro F1 and loss of ReLU(X̂W)Θ on the validation nodes.
  ValidationScore Score(const Matrix& w, const Matrix& theta);
  // The layer, which is not the last, is done with weights w.
  void EndLayer(const Matrix& w);

 private:
  const Context& context_;
  Backend& backend_;
  const Dataset& dataset_;
  std::vector<uint32_t> nodes_;  // validation nodes
  uint32_t hops_;
  DeviceGraphPtr graph_;  // the whole one
  DeviceGraphPtr rows_;   // its rows of validation nodes
  TensorPtr x_;           // activations of every node entering the layer; null in the last one
  TensorPtr xhat_;        // aggregated, validation rows alone
};

}  // namespace l2gcn
