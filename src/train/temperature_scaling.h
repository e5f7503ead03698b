// Temperature scaling of the evaluation nodes: their losses after dividing all logits by the one temperature that minimises the
// mean loss.
//
// A layer in training first learns to separate classes and then becomes overconfident. The loss measures both, so it turns while
// the answers still improve. Dividing all logits by one temperature T removes the overconfidence and leaves the ranking of every
// node's classes unchanged (Berta et al., "Rethinking Early Stopping: Refine, Then Calibrate", 2025). The mean loss is minimised
// over β = 1/T, in which it is convex, by Newton's method inside a bracket. T is at least 1: an underconfident layer is still
// learning. All threads compute the terms of nodes and one thread adds them in the order of the nodes, so equal margins give
// equal bits.
#pragma once

#include <vector>

#include "l2gcn/array.h"
#include "l2gcn/context.h"

namespace l2gcn {

struct TemperatureScaling {
  double temperature = 1;     // 1 … 100
  std::vector<float> losses;  // (nodes) at that temperature
};

// `margins` (nodes × classes): those of RowScores, of nodes with one class each.
TemperatureScaling ScaleTemperature(const Context& context, const Matrix& margins);

}  // namespace l2gcn
