// When is a layer done? Layer-wise training asks a StopPolicy; a caller may write one and hand it to Train().
//
// The trainer calls BeginLayer once for each layer, and then, after every EpochsUntilDecision() epochs,
// Decide(). The layer ends when a decision says stop or when its budget of epochs is spent, whichever comes
// first. A method that trains all layers together counts as one layer. All calls come from the thread that
// called Train(). What a policy throws reaches the caller of Train().
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace l2gcn {

// The layer about to be trained.
struct LayerView {
  uint32_t layer = 0;  // 0-based
  uint32_t layers = 1;
  uint32_t budget = 1;         // epochs at most
  uint32_t epochs_before = 0;  // trained in all earlier layers
  uint64_t steps_per_epoch = 1;
  uint32_t evaluate_every = 1;  // epochs to train between two evaluations, so that evaluations stay cheap
  bool norm = false;            // the layer normalises its rows
};

// The training so far, as a policy sees it before a decision.
struct Observation {
  // The score of the validation nodes, computed as if the current layer were the last one.
  struct Validation {
    double f1 = std::numeric_limits<double>::quiet_NaN();
    double loss = std::numeric_limits<double>::quiet_NaN();  // mean
  };

  uint32_t epoch = 0;              // epochs done in this layer
  std::span<const double> losses;  // (epoch) the last batch's loss of each epoch
  Validation validation;  // set if WantsValidation(); if WantsNodeLosses() alone, of the evaluation nodes
  double seconds = 0;     // of training so far; evaluation is not counted
  // (evaluation nodes) the loss of each node, and its miss: 1 − the probability of its class, or 1 − F1 where nodes have several
  // labels. The nodes and their order are the same throughout a layer. In the last layer, losses of nodes with one class are
  // those after temperature scaling. Set only if WantsNodeLosses().
  std::span<const float> node_losses = {}, node_misses = {};
};

struct Decision {
  bool stop = false;
  double probability = -1;   // that the layer stops here; negative for policies that have none
  bool best_so_far = false;  // these weights are worth returning to; used if KeepsBest()
};

class StopPolicy {
 public:
  virtual ~StopPolicy() = default;
  virtual void BeginLayer(const LayerView& view) = 0;
  // How many epochs to train from `epoch` on before asking again; 0 counts as 1.
  virtual uint32_t EpochsUntilDecision(uint32_t epoch) const = 0;
  virtual Decision Decide(const Observation& observation) = 0;
  // Whether the validation nodes are to be scored before each decision.
  virtual bool WantsValidation() const { return false; }
  // Whether the losses of single evaluation nodes are computed before each decision: validation nodes, or train nodes held
  // out of the steps (TrainConfig::hold_out).
  virtual bool WantsNodeLosses() const { return false; }
  // Whether the layer returns to the weights of its last best_so_far decision when it ends.
  virtual bool KeepsBest() const { return false; }
  // What the run's record says when this policy ends a layer: "early stopping", "controller".
  virtual std::string Name() const = 0;
  // What it remembers, so that a training can go on: BeginLayer() of the same layer and Restore() bring it back.
  // Restore throws Error(kInput) for numbers that Memory cannot have returned.
  virtual std::vector<double> Memory() const { return {}; }
  virtual void Restore(std::span<const double>) {}
};

// Sees every decision of a policy and may change it, for instance set `stop`.
using OnDecision = std::function<void(const LayerView&, const Observation&, Decision&)>;

}  // namespace l2gcn
