// Looks at the validation nodes while a layer is in training, for policies that watch them. Scores are computed where
// the weights are, block by block of nodes (Backend::Score).
//
// Where training holds every node, its own X̂ is looked at. In the inductive setting validation nodes lie outside the
// train graph and are reached through the operator of the whole graph: there the probe keeps their rows of X̂, and, in
// every layer but the last, what the next layer's rows are made of. That is the features in the first layer. The last
// layer's rows are made a few columns at a time, so that no other layer's activations of the whole graph exist beside
// the training's own in a network of two layers.
#pragma once

#include <optional>
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

// What a look found; the layer at hand counts as the last one.
struct ValidationLook {
  ValidationScore score;
  std::vector<float> losses;  // (labelled validation nodes, ascending)
};

class ValidationProbe {
 public:
  // `hops` is how often a layer aggregates; `panel_bytes` takes the place of Backend::PanelBytes() if it is not 0. All
  // arguments must outlive the probe.
  ValidationProbe(const Context& context, LayerPipeline& pipeline, const Dataset& dataset,
                  const SplitNodes& nodes, uint32_t hops, size_t panel_bytes = 0);
  // Aggregates for the validation nodes. In the last layer the activations of other nodes are let go.
  void BeginLayer(bool last);
  // Where training holds every node, its X̂ serves the probe, too.
  void ShareInput(const TensorPtr& xhat);
  // The validation nodes by the weights as they are; valid until the next look.
  const ValidationLook& Look(const LayerTraining& training);
  // What the last look found.
  const ValidationLook& last() const { return look_; }
  // The layer, which is not the last, is done.
  void EndLayer(const DenseBlock& block);

 private:
  // Activations of every node entering the layer that begins, from those of the layer that ended.
  TensorPtr PassLayer(const DenseBlock& block);
  // Rows of the validation nodes of Â ReLU(Â x_ W), panel by panel of columns.
  TensorPtr RowsOfNext(const Matrix& w);

  const Context& context_;
  LayerPipeline& pipeline_;
  std::vector<uint32_t> nodes_;  // labelled validation nodes
  Targets targets_;              // of them
  uint32_t hops_;
  size_t panel_bytes_;
  uint32_t reach_;                             // powers of the operator side by side; 0: the hops-th alone
  bool shares_;                                // the training's own X̂ is looked at, so nothing else is kept
  std::shared_ptr<const RowsToScore> scored_;  // X̂ of the layer at hand: rows of nodes_
  ValidationLook look_;
  DeviceGraphPtr rows_;              // the whole graph's operator: rows of validation nodes
  std::optional<DenseBlock> ended_;  // the layer that ended, until the next one begins
  TensorPtr x_;                      // activations of every node entering the layer; null in the last one
  std::vector<TensorPtr> powers_;    // with reach_: x_ and its aggregations but the last
};

}  // namespace l2gcn
