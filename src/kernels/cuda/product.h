// Rows times a small matrix: Y = X W or ReLU(X W), for all rows or picked ones.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/rows.h"
#include "l2gcn/choices.h"

namespace l2gcn::cuda {

constexpr uint32_t kProductColumns = 64;  // columns of W a block takes; W is padded to a multiple of it
constexpr uint32_t kProductDepth = 32;    // rows of W a stage takes; likewise

// x: dense rows; w: (depth_padded × columns_padded) floats on the device, zero beyond the true size; y: rows
// of y.stride ≤ columns_padded. `picked` (rows), if not null, names the rows of x.
void LaunchProduct(const DeviceRows& x, const uint32_t* picked, size_t rows, const float* w,
                   uint32_t depth_padded, uint32_t columns_padded, const DeviceRows& y, bool relu,
                   Precision precision, cudaStream_t stream);

}  // namespace l2gcn::cuda
