// A step of any layer: norms and biases, dropout of the input, a hidden layer before Θ, an input of several matrices side by
// side. It has phases of tasks:
//   1. a panel of rows: gather, the hidden layers, loss, and the way back to the first layer's product. With batch norm
//      this is several phases, with a sum over the batch between them;
//   2. a piece of a weight matrix's rows, or what scales and shifts: its gradient over the whole batch, and Adam.
// Gradients of dense weights are sums over groups of samples, batch norm's sums are sums over panels; both are the same
// for any number of threads. All others are sums over samples in order. So the bits do not depend on the number of
// threads.
#pragma once

#include <memory>

#include "kernels/cpu/input_blocks.h"
#include "kernels/cpu/training_step.h"

namespace l2gcn {

std::unique_ptr<TrainingStep> MakeGeneralStep(const CpuKernels& kernels, InputBlocks input,
                                              Array<uint32_t> samples, const Targets& targets,
                                              const LayerSpec& spec, const LayerState& start);

}  // namespace l2gcn
