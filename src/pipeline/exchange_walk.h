// The bytes that ranks send each other in a run, all together, by walking through its verbs with counts in place of data
// (kernels/ranks/ranks_backend.h says what each verb sends).
#pragma once

#include <cstdint>
#include <span>

#include "kernels/ranks/step_choice.h"
#include "l2gcn/layer_moves.h"
#include "pipeline/run_counts.h"

namespace l2gcn {

// How ranks get at each other's rows, and who computes with them.
struct ExchangeWay {
  bool in_place = false;  // ranks see each other's rows in memory
  bool on_cards = false;  // which keep less of what is sparse, and get the rows of a layer's training whole
  std::span<const StepChoice> steps;  // of every layer; empty: rank 0 makes them
};

// The steps of a layer.
StepShape StepsOf(const RunCounts& counts, size_t layer);

class ExchangeWalk {
 public:
  ExchangeWalk(const RunCounts& counts, uint32_t ranks, ExchangeWay way);

  // `moves` of every layer; none: each layer runs all its epochs, and nothing is looked at.
  void Train(std::span<const LayerMoves> moves);
  // `after_training`: the nodes of all parts are scored, else all nodes get logits.
  void Infer(bool after_training);

  uint64_t bytes() const { return static_cast<uint64_t>(bytes_); }
  // Whether the input of a layer's training is likely to be sparse.
  static bool StaysSparse(const RunCounts& counts, size_t layer, bool on_cards);

 private:
  bool SparseIn(size_t layer) const { return counts_.sparse && layer == 0; }
  bool SharesSteps(size_t layer) const { return layer < steps_.size() && steps_[layer].shared; }
  void Aggregate(double sources, double rows, double cols, bool sparse, double element);
  void ForwardLayer(size_t layer);
  void Samples(size_t layer, const LayerMoves& moves);
  void Steps(size_t layer, const LayerMoves& moves);
  double StateBytes(size_t layer) const;
  void Look(size_t layer, const LayerMoves& moves);

  const RunCounts& counts_;
  const double ranks_;
  const double others_;  // R − 1
  const double share_;   // (R − 1) / R
  const bool in_place_, on_cards_;
  const std::span<const StepChoice> steps_;
  double bytes_ = 0;
};

}  // namespace l2gcn
