// One layer's mini-batch training on the CPU. A step has two phases of tasks (core/phases.h):
//   1. a thread takes panels of rows: gather, X̂W, ReLU, ·Θ, loss, its gradient, ·Θᵀ, all while in cache;
//   2. a thread takes rows of W and Θ: their gradients, summed over the whole batch, and Adam.
// So no sum is ever split between threads, and the bits do not depend on how many there are. No gradient to
// the input is computed. Rows of the batches to come are prefetched while the present ones are computed.
#pragma once

#include <memory>

#include "kernels/backend.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/stored_matrix.h"

namespace l2gcn {

std::unique_ptr<LayerTraining> MakeCpuLayerTraining(const CpuKernels& kernels, StoredMatrix input,
                                                    Array<uint32_t> samples, const Targets& targets,
                                                    const LayerSpec& spec, const LayerState& start,
                                                    bool profile);

}  // namespace l2gcn
