// What a layer's answers are worth once one number has put its confidence right: the losses of nodes after the temperature
// that suits all of them best.
//
// A layer in training first learns to tell classes apart and then grows more sure of itself than it should be. The loss
// counts both, so it turns while the answers still get better. Dividing all logits by one temperature T takes the second
// part away and leaves the order of every node's answers as it is (Berta et al., "Rethinking Early Stopping: Refine, Then
// Calibrate", 2025). Here the mean loss is minimised over β = 1/T, in which it is convex, by Newton's method held inside a
// bracket. Temperatures below 1 are left out: a layer that is not yet sure of itself is still learning that. Terms of
// nodes are computed by all threads and added by one in the order of the nodes, so equal margins give equal bits.
#pragma once

#include <vector>

#include "l2gcn/array.h"
#include "l2gcn/context.h"

namespace l2gcn {

struct TemperatureScaling {
  double temperature = 1;     // 1 … 100
  std::vector<float> losses;  // (nodes) at that temperature
};

// Margins (nodes × classes) of nodes with one class each, as RowScores tells them.
TemperatureScaling ScaleTemperature(const Context& context, const Matrix& margins);

}  // namespace l2gcn
