// Whether ranks that exchange by messages share the steps of a layer (kernels/ranks/rank_steps.h).
//
// A step's time alone is its operations over the rate of the slowest rank; shared, the largest rank's part of that and the
// time in which a gradient goes through all ranks and back, and in which a rank adds its groups' to it. Rates are measured
// once for a job: by a few steps of a layer of reddit's shape, by sums of two sizes, and by adding groups. Steps are shared where that is faster by a tenth. The choice changes
// no result.
#pragma once

#include <cstddef>

#include "l2gcn/context.h"
#include "l2gcn/step_choice.h"

namespace l2gcn {

struct StepShape {
  size_t features = 0, hidden = 0, classes = 0;
  size_t batch = 0;  // samples of a step

  double Operations() const;     // of a step: products of the forward pass and of the gradients
  size_t GradientBytes() const;  // as ranks send them
};

// For a layer whose steps can be shared. Called by all ranks, which get the same answer, for the same shape every time; of
// what their contexts say, rank 0's word counts.
StepChoice ChooseSteps(const Context& context, const StepShape& shape);

}  // namespace l2gcn
