// Looks at the validation nodes while a layer is in training, for policies that watch them. Scores are computed where
// the weights are, block by block of nodes (Backend::Score).
//
// Where training holds every node, its own X̂ is looked at. In the inductive setting validation nodes lie outside the
// train graph and are reached through the operator of the whole graph: there the probe keeps their rows of X̂, and, in
// every layer but the last, what the next layer's rows are made of. That is what evaluation computes, too: small outputs
// of layers are left to it (LayerPipeline::KeepWhole).
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
  // Those of `nodes` that have labels are looked at. `hops` is how often a layer aggregates. All arguments must outlive the probe.
  ValidationProbe(const Context& context, LayerPipeline& pipeline, const Dataset& dataset,
                  std::span<const uint32_t> nodes, uint32_t hops);
  size_t nodes() const { return nodes_.size(); }  // that can be looked at
  // Aggregates for the validation nodes. In the last layer the activations of other nodes are let go.
  void BeginLayer(bool last);
  // Where training holds every node, its X̂ serves the probe, too.
  void ShareInput(uint32_t layer, const TensorPtr& xhat);
  // The validation nodes by the weights as they are.
  ValidationScore Look(const LayerTraining& training);
  // Some labelled validation nodes, named by their places among all labelled ones. The same places, with or without
  // margins, are to be named throughout a layer.
  RowScores Look(const LayerTraining& training, std::span<const uint32_t> places, bool margins);
  // The layer, which is not the last, is done. Returns the seconds, since the layer began, of what evaluation will use again.
  double EndLayer(const DenseBlock& block);

 private:
  const Context& context_;
  LayerPipeline& pipeline_;
  const Labels& labels_;
  std::vector<uint32_t> nodes_;  // labelled validation nodes
  Targets targets_;              // of them
  uint32_t hops_;
  uint32_t reach_;                             // powers of the operator side by side; 0: the hops-th alone
  bool leaves_ = true;                         // outputs of layers to evaluation
  double powers_seconds_ = 0;                  // of making powers_
  bool shares_;                                // the training's own X̂ is looked at, so nothing else is kept
  uint32_t layer_ = 0;                         // that xhat_ is of, where it is shared
  TensorPtr xhat_;                             // of the layer at hand: rows of nodes_, or of all nodes
  std::shared_ptr<const RowsToScore> scored_;  // all rows of nodes_ in it; null until they are looked at
  std::shared_ptr<const RowsToScore> looked_;  // those of the places named; likewise
  DeviceGraphPtr rows_;                        // the whole graph's operator: rows of validation nodes
  TensorPtr x_;                    // activations of every node entering the layer; null in the last one
  std::vector<TensorPtr> powers_;  // with reach_: x_ and its aggregations but the last
};

}  // namespace l2gcn
