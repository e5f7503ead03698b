// Layers of any form on a GPU: training, and the forward pass of one hidden layer.
//
// A step is about fifteen launches: the batch is drawn and its rows are gathered side by side from the input's parts,
// products go to cuBLAS (blas.h), everything between them to form_kernels.h. The first step is launched as it is; then
// a step is captured once as a CUDA graph and replayed, because launching costs more than computing where batches are
// small. The loss of every step stays on the device until the host asks, every few hundred steps, when it also looks
// for a wish to stop.
//
// Sparse parts of the input stay sparse where they lie, and are unpacked in the rows of a batch: the product is dense.
// Under --device-memory, parts that live in host memory are read over the bus in every step; they are not staged.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cuda/blas.h"
#include "kernels/cuda/layer_training.h"
#include "kernels/cuda/tensor.h"

namespace l2gcn::cuda {

std::unique_ptr<LayerTraining> MakeFormTraining(const std::shared_ptr<Device>& device,
                                                std::shared_ptr<const Blas> blas, const LayerInput& input,
                                                std::shared_ptr<const DeviceTargets> targets,
                                                const LayerSpec& spec, const LayerState& start,
                                                std::string* explanation);

// ReLU of X W after the block's affine, block by block of rows; `rows` picks rows of the input, empty: all.
TensorPtr TransformRows(const Context& context, const std::shared_ptr<Device>& device, const Blas& blas,
                        const LayerInput& input, const DenseBlock& block, std::span<const uint32_t> rows,
                        RowKind kind);

}  // namespace l2gcn::cuda
