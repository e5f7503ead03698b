// The validation score of a layer still in training, for policies that watch it. The probe keeps the whole
// graph's activations beside the training's own, because validation nodes lie outside an inductive train
// graph.
#pragma once

#include <span>
#include <vector>

#include "pipeline/layer_pipeline.h"
#include "train/stop_policy.h"
#include "train/training_set.h"

namespace l2gcn {

// Both scores of picked nodes; row i of logits belongs to nodes[i].
ValidationScore ScoreNodes(const Context& context, const Labels& labels, std::span<const uint32_t> nodes,
                           const Matrix& logits);

// Throws Error(kUsage) if the split has no validation node to score.
void CheckValidationNodes(const Dataset& dataset, const SplitNodes& nodes);

class ValidationProbe {
 public:
  // `hops` is how often a layer aggregates. All arguments must outlive the probe.
  ValidationProbe(const Context& context, LayerPipeline& pipeline, const Dataset& dataset,
                  const SplitNodes& nodes, uint32_t hops);
  // Aggregates for the validation nodes. In the last layer the activations of other nodes are let go.
  void BeginLayer(bool last);
  // Micro F1 and loss of ReLU(X̂W)Θ on the validation nodes.
  ValidationScore Score(const Matrix& w, const Matrix& theta);
  // The layer, which is not the last, is done with weights w.
  void EndLayer(const Matrix& w);

 private:
  const Context& context_;
  LayerPipeline& pipeline_;
  const Labels& labels_;
  const std::vector<uint32_t>& nodes_;  // validation nodes
  uint32_t hops_;
  DeviceGraphPtr rows_;  // the whole graph's operator: rows of validation nodes
  TensorPtr x_;          // activations of every node entering the layer; null in the last one
  TensorPtr xhat_;       // aggregated, validation rows alone
};

}  // namespace l2gcn
