// Picked rows of a matrix, gathered and multiplied by weights: a block of rows at a time, by one thread. An output row
// depends on its input row alone, so the bits do not depend on how rows are cut into blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/input_blocks.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/padded_weights.h"
#include "kernels/cpu/stored_matrix.h"

namespace l2gcn {

constexpr size_t kProductRows = 64;  // rows of a block

// gathered (count × stride, zeros up to PadWidth(cols), which products read) ← the picked rows of a dense matrix.
void GatherRows(const CpuKernels& kernels, const StoredMatrix& x, const uint32_t* picked, size_t count,
                float* gathered, size_t stride);

// The stride of gathered rows of `x`. Widths of parts are padded where they end, so that the last one may reach a pad
// further.
inline size_t GatheredStride(const InputBlocks& x) { return PadStride(x.dense_cols() + kPad); }

// y (size × w.stride) = rows `picked` of X · W, or ReLU of them where X is all sparse or all dense; gathered (size × x_stride)
// is scratch, and so is more (like y) where X is sparse in part.
void BlocksProduct(const CpuKernels& kernels, const InputBlocks& x, const PaddedWeights& w,
                   const uint32_t* picked, size_t size, bool relu, size_t x_stride, float* gathered,
                   float* more, float* y);

}  // namespace l2gcn
