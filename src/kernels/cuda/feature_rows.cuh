// Feature rows into a tile of shared memory, for rows that cannot be copied as they are: sparse ones are
// unpacked, narrow types widened; and rows that come chunk by chunk.
#pragma once

#include "kernels/cuda/row_access.cuh"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/train_plan.h"
#include "kernels/cuda/warp_mma.cuh"

namespace l2gcn::cuda {

// A sparse row is unpacked into its dense tile. Chunks of a row come in ascending order, so a cursor per row
// remembers where the next chunk's entries begin.
__device__ __noinline__ void LoadSparseRow(DeviceRows x, Tile tile, int row, size_t source, int begin,
                                           int width, uint32_t* cursor) {
  const int lane = threadIdx.x & 31;
#pragma unroll 1
  for (int c = lane * 4; c < width; c += 128) {
    *reinterpret_cast<float4*>(tile.At(row, c)) = make_float4(0, 0, 0, 0);
  }
  const uint64_t row_begin = __ldg(x.indptr + source), row_end = __ldg(x.indptr + source + 1);
  uint64_t entry = row_begin + (begin == 0 ? 0 : cursor[row]);
  __syncwarp();
#pragma unroll 1
  for (;;) {
    const uint64_t mine = entry + lane;
    const int column = mine < row_end ? static_cast<int>(__ldg(x.columns + mine)) - begin : width;
    if (column < width) *tile.At(row, column) = __ldg(x.values + mine);
    const int taken = __popc(__ballot_sync(0xFFFFFFFFu, column < width));
    entry += taken;
    if (taken < 32) break;
  }
  if (lane == 0) cursor[row] = static_cast<uint32_t>(entry - row_begin);
}

// Columns begin … begin+width−1 of `valid` feature rows into `tile`, for rows that cannot be copied as they
// are or come in chunks; one warp a row.
__device__ __noinline__ void LoadOtherRows(DeviceRows x, const uint32_t* rows_of, uint32_t* cursor, Tile tile,
                                           int valid, int begin, int width) {
  const int lane = threadIdx.x & 31;
  const int end = min(width, static_cast<int>(x.stride) - begin);
#pragma unroll 1
  for (int row = threadIdx.x >> 5; row < valid; row += kTrainWarps) {
    const size_t source = rows_of[row], from = source * x.stride + begin;
    if (x.kind == RowKind::kSparse) {
      LoadSparseRow(x, tile, row, source, begin, width, cursor);
      continue;
    }
#pragma unroll 1
    for (int c = lane * 4; c < end; c += 128) {
      float* to = tile.At(row, c);
      if (x.kind == RowKind::kF32) {
        CopyAsync16(to, static_cast<const float*>(x.dense) + from + c);
      } else {
        *reinterpret_cast<float4*>(to) = x.kind == RowKind::kF16 ? Load4<RowKind::kF16>(x.dense, from + c)
                                                                 : Load4<RowKind::kBf16>(x.dense, from + c);
      }
    }
  }
}

}  // namespace l2gcn::cuda
