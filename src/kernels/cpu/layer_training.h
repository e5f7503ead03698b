// One layer trained on the CPU: forward, loss, both weight gradients and Adam over shuffled mini-batches.
//
// A step has two phases with a barrier after each. In the first, threads split the batch into panels of rows:
// gather, H = ReLU(X̂W), logits = HΘ, loss, gradient of the logits, gradient of H. In the second they split
// the weights: each computes its rows of ∂W and ∂Θ over the whole batch and applies Adam to them. So no sum
// is ever split between threads, and the bits do not depend on how many there are. No gradient to the input
// is computed.
#pragma once

#include <memory>

#include "kernels/backend.h"
#include "kernels/cpu/kernels.h"

namespace l2gcn {

// Exactly one of `dense` and `sparse` is used; both share memory with their tensor.
struct LayerInput {
  bool is_sparse = false;
  Matrix dense;      // (rows × D)
  CsrMatrix sparse;  // (rows × D)
};

std::unique_ptr<LayerTraining> MakeCpuLayerTraining(const CpuKernels& kernels, LayerInput input,
                                                    Array<uint32_t> samples, const Targets& targets,
                                                    const LayerSpec& spec, const LayerState& start);

}  // namespace l2gcn
