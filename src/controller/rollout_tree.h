// The outcomes of stopping one training at every possible decision, each computed once. Layer 1's curve does not depend on later
// decisions. So one training to its budget, with weights kept at each decision point, gives the outcome of stopping at any of
// them, and each outcome is the root of another such training for the next layer. A policy can then try thousands of episodes on
// a sampled problem at the cost of a few dozen layer trainings.
//
// Nodes of the tree are trained on first use and release their tensors once nothing can need them. Not thread-safe: each worker
// has its own tree.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "controller/controller_impl.h"
#include "l2gcn/config.h"
#include "l2gcn/dataset.h"
#include "pipeline/layer_pipeline.h"
#include "train/stop_policy.h"

namespace l2gcn {

// One layer trained to its budget.
struct LayerTrace {
  std::vector<double> losses;       // (budget)
  std::vector<uint32_t> decisions;  // epochs done at each decision; the last is the budget
  std::vector<Observation::Validation>
      shown;                   // (decisions) what a policy sees of the shown nodes; empty if none
  std::vector<uint32_t> kept;  // (decisions) whose weights a layer that ends here goes back to
  std::vector<double>
      f1;  // (decisions) of the scored nodes with those weights, as the last layer; empty if none
  double seconds_per_epoch = 0;
};

class RolloutTree {
 public:
  // Trains on `train` (ascending), shows policies `shown` and scores `scored` nodes of the data set (both may
  // be empty), as the configuration says, with decisions as the general controller takes them. The data set
  // must outlive the tree.
  RolloutTree(const Context& context, const Dataset& dataset, const TrainConfig& config,
              std::vector<uint32_t> train, std::vector<uint32_t> scored, std::vector<uint32_t> shown = {});
  ~RolloutTree();

  uint32_t layers() const { return config_.layers; }
  uint32_t BudgetOf(uint32_t layer) const { return config_.EpochsOf(layer); }
  uint32_t TotalBudget() const;
  double prior_loss() const { return prior_loss_; }
  // The trace of layer stops.size() after earlier layers stopped at these decisions.
  const LayerTrace& Trace(const std::vector<uint32_t>& stops);
  // Epochs trained so far, over all nodes of the tree.
  uint64_t trained_epochs() const { return trained_epochs_; }

 private:
  struct Node;
  void Expand(Node& node);
  LayerSpec SpecOf(const Node& node);
  // Records the decision that the training stands at.
  void Record(Node& node, const TensorPtr& scored, const TensorPtr& shown, BestDecision& best);
  bool EvaluatesBeyondTrain() const { return !scored_.empty() || !shown_.empty(); }
  Node& Child(Node& node, uint32_t decision);

  Context context_;
  const Dataset& dataset_;
  TrainConfig config_;
  std::vector<uint32_t> scored_, shown_;
  LayerPipeline pipeline_;
  DeviceGraphPtr scored_rows_, shown_rows_;  // of the whole graph; null if there are none
  Targets targets_;
  double prior_loss_ = 1;
  uint64_t trained_epochs_ = 0;
  std::unique_ptr<Node> root_;
};

}  // namespace l2gcn
