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
  // Where training holds every node, its X̂ serves the probe, too.
  void ShareInput(const TensorPtr& xhat);
  // Micro F1 and loss on the validation nodes with the layer as the last one.
  ValidationScore Score(const LayerState& state);
  // The loss of each of these validation nodes, named by their places among all of them; all must be labelled.
  std::vector<float> Look(const LayerState& state, std::span<const uint32_t> places);
  // The layer, which is not the last, is done.
  void EndLayer(const DenseBlock& block);

 private:
  const Context& context_;
  LayerPipeline& pipeline_;
  const Labels& labels_;
  const std::vector<uint32_t>& nodes_;  // validation nodes
  uint32_t hops_;
  uint32_t reach_;                 // powers of the operator side by side; 0: the hops-th alone
  bool shares_;                    // the training's own X̂ is looked at, so nothing else is kept
  DeviceGraphPtr rows_;            // the whole graph's operator: rows of validation nodes
  TensorPtr x_;                    // activations of every node entering the layer; null in the last one
  std::vector<TensorPtr> powers_;  // with reach_: x_ and its aggregations but the last
  TensorPtr xhat_;                 // aggregated, validation rows alone; or the training's
};

}  // namespace l2gcn
