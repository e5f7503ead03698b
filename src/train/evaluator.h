// Scores nodes while a layer trains: all validation nodes, or the evaluation nodes of a stopping rule. Scores are computed
// where the weights are, block by block of nodes (Backend::Score).
//
// Where training holds every node, and for train nodes that are held out, its own X̂ is read. In the inductive setting
// validation nodes lie outside the train graph and are reached through the operator of the whole graph: there the evaluator
// keeps their rows of X̂ and, in every layer but the last, what the next layer's rows are computed from. Evaluation after
// training computes the same: small outputs of layers are left to it (LayerPipeline::KeepWhole).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "pipeline/layer_pipeline.h"
#include "train/evaluation_nodes.h"
#include "train/stop_policy.h"
#include "train/training_set.h"

namespace l2gcn {

// F1 and mean loss of picked nodes; row i of logits belongs to nodes[i].
Observation::Validation ScoreNodes(const Context& context, const Labels& labels,
                                   std::span<const uint32_t> nodes, const Matrix& logits);

// Throws Error(kUsage) if the split has no validation node to score.
void CheckValidationNodes(const Dataset& dataset, const SplitNodes& nodes);

// F1 of what rows were answered; NaN of a regression, which answers nothing.
double F1Of(const RowScores& scores);

class Evaluator {
 public:
  // Scores all validation nodes, the evaluation nodes of `config`, both or nothing. `hops`: how often a layer aggregates.
  // All arguments must outlive the evaluator.
  Evaluator(const Context& context, LayerPipeline& pipeline, const Dataset& dataset, const SplitNodes& nodes,
            const TrainConfig& config, uint32_t hops, bool scores_validation, bool scores_nodes);

  const EvaluationNodes& evaluation_nodes() const { return chosen_; }
  bool HoldsOut() const { return !chosen_.held.empty(); }
  bool scores() const { return HoldsOut() || !nodes_.empty(); }  // anything at all

  // Aggregates for the validation nodes, before the layer's own matrices are there: what goes in the last layer need not
  // stand beside them.
  void BeginLayer(uint32_t layer, bool last);
  // The layer's own X̂.
  void SetInput(const LayerInput& xhat);
  Observation::Validation ScoreValidation(const LayerTraining& training);
  // Losses of the evaluation nodes. In the last layer, where nodes have one class, they are losses after temperature
  // scaling: only the answers count there. An overconfident inner layer has overfitted its train nodes, and the next layer
  // would train on that, so its losses are not scaled.
  RowScores ScoreEvaluationNodes(const LayerTraining& training);
  // The layer, which is not the last, is done. Returns the seconds, since the layer began, of what evaluation will use again.
  double EndLayer(const HiddenParameters& hidden);

 private:
  // Whether validation nodes are reached through the whole graph.
  bool ReachesOut() const { return !nodes_.empty() && !shares_; }
  Array<uint32_t> RowsOf(std::span<const uint32_t> places) const;
  std::shared_ptr<const RowsToScore> PrepareEvaluationNodes();

  const Context& context_;
  LayerPipeline& pipeline_;
  const Labels& labels_;
  Loss loss_;  // of a regression
  const std::vector<uint32_t>& train_;
  uint32_t hops_;
  bool self_features_;      // a layer's input has several blocks,
  uint32_t hops_in_layer_;  // of so many hops
  EvaluationNodes chosen_;
  std::vector<uint32_t> nodes_;  // labelled validation nodes that are scored
  bool shares_;                  // they have rows in the training's own X̂
  bool leaves_ = true;           // outputs of layers to evaluation
  double hops_seconds_ = 0;      // of computing whole_xhat_
  uint32_t layer_ = 0;           // the current layer
  bool last_ = false;
  LayerInput xhat_;             // of the layer in training
  LayerInput validation_xhat_;  // rows of nodes_, where they are reached through the whole graph
  std::shared_ptr<const RowsToScore> validation_rows_, evaluation_rows_;  // null until they are scored
  std::vector<DeviceGraphPtr> rows_;  // the whole graph's operators: rows of validation nodes
  TensorPtr x_;                       // activations of every node entering the layer; null in the last one
  LayerInput whole_xhat_;  // with several blocks: those of every node but the last hop's, in place of x_
};

}  // namespace l2gcn
