// A step of the basic layer. It has two phases of tasks:
//   1. a panel of rows: gather, X̂W, ReLU, ·Θ, loss, its gradient, ·Θᵀ, all while in cache;
//   2. a piece of the rows of W and Θ: their gradients, summed over the whole batch, and Adam.
// A gradient is the sum, in order, of the gradients of groups of samples, which are the same for any number of
// threads; so the bits do not depend on how many there are. Where they fit the caches, groups' gradients are
// computed in phase 1 by the thread that has their activations, and only added in phase 2. No gradient to the
// input is computed. Rows of the batches to come are prefetched while the present ones are computed.
#pragma once

#include <memory>

#include "kernels/cpu/stored_matrix.h"
#include "kernels/cpu/training_step.h"

namespace l2gcn {

std::unique_ptr<TrainingStep> MakeFusedStep(const CpuKernels& kernels, StoredMatrix input,
                                            Array<uint32_t> samples, const Targets& targets,
                                            const LayerSpec& spec, const LayerState& start);

}  // namespace l2gcn
