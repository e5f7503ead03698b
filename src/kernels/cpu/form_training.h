// One layer's mini-batch training on the CPU where the layer is more than W and Θ (LayerArchitecture in
// kernels/backend.h): bias or LayerNorm, dropout of the input, a hidden layer before Θ, an input of several
// matrices side by side. A step has two phases of tasks (core/phases.h):
//   1. a panel of rows: gather, the hidden layers, loss, and the way back to the first layer's product;
//   2. a piece of a weight matrix's rows, or one affine: its gradient over the whole batch, and Adam.
// Gradients of dense weights are sums over groups of samples that are the same for any number of threads; those
// of sparse inputs, biases, gains and shifts are sums over samples in order. So the bits do not depend on the
// number of threads.
#pragma once

#include <memory>

#include "kernels/backend.h"
#include "kernels/cpu/input_blocks.h"
#include "kernels/cpu/kernels.h"

namespace l2gcn {

std::unique_ptr<LayerTraining> MakeCpuFormTraining(const CpuKernels& kernels, InputBlocks input,
                                                   Array<uint32_t> samples, const Targets& targets,
                                                   const LayerSpec& spec, const LayerState& start,
                                                   bool profile);

// h (count × PadWidth(H), stride as y) = what the affine's rows make of the products y, which may be changed.
// `affine` (rows × stride); inverse (count) is scratch, or kept for the way back.
void ApplyAffine(const CpuKernels& kernels, size_t count, size_t width, size_t stride, size_t affine_rows,
                 const float* affine, float* y, float* inverse, float* h);

}  // namespace l2gcn
