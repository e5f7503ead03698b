// Blocks of 128 rows × 64 columns, eight warps of 32 × 32 each; rows of X and of W pass through a three-stage
// ring in shared memory, 32 features at a time. A block reads its rows once; blocks of the same rows lie side
// by side in the grid, so the second read of a row hits L2.
#include <algorithm>

#include "kernels/cuda/check.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/relu.cuh"
#include "kernels/cuda/row_access.cuh"
#include "kernels/cuda/warp_mma.cuh"

namespace l2gcn::cuda {
namespace {

constexpr int kRows = 128, kColumns = kProductColumns, kDepth = kProductDepth, kStages = 3, kThreads = 256;
constexpr int kStageFloats = kRows * kDepth + kDepth * kColumns;
constexpr size_t kSharedBytes = sizeof(float) * kStages * kStageFloats;

template <RowKind kKind>
__device__ void FillStage(float* stage, const DeviceRows& x, const uint32_t* picked, size_t first_row,
                          size_t rows, const float* w, uint32_t columns_padded, int depth) {
  const Tile tile{stage, kDepth};
  for (int i = threadIdx.x; i < kRows * kDepth / 4; i += kThreads) {
    const int row = i / (kDepth / 4), column = i % (kDepth / 4) * 4;
    if (first_row + row >= rows) continue;  // what lies there only meets outputs that are not stored
    if (depth + column >= x.stride) {
      *reinterpret_cast<float4*>(tile.At(row, column)) = make_float4(0, 0, 0, 0);
      continue;
    }
    const size_t source = picked == nullptr ? first_row + row : picked[first_row + row];
    const size_t at = source * x.stride + depth + column;
    if constexpr (kKind == RowKind::kF32) {
      CopyAsync16(tile.At(row, column), static_cast<const float*>(x.dense) + at);
    } else {
      *reinterpret_cast<float4*>(tile.At(row, column)) = Load4<kKind>(x.dense, at);
    }
  }
  const Tile weights{stage + kRows * kDepth, kColumns};
  for (int i = threadIdx.x; i < kDepth * kColumns / 4; i += kThreads) {
    const int k = i / (kColumns / 4), column = i % (kColumns / 4) * 4;
    CopyAsync16(weights.At(k, column),
                w + static_cast<size_t>(depth + k) * columns_padded + blockIdx.x * kColumns + column);
  }
}

__device__ void StorePair(const DeviceRows& y, size_t at, float x0, float x1) {
  if (y.kind == RowKind::kF32) {
    *reinterpret_cast<float2*>(static_cast<float*>(y.dense) + at) = make_float2(x0, x1);
  } else if (y.kind == RowKind::kF16) {
    *reinterpret_cast<__half2*>(static_cast<__half*>(y.dense) + at) = __floats2half2_rn(x0, x1);
  } else {
    *reinterpret_cast<__nv_bfloat162*>(static_cast<__nv_bfloat16*>(y.dense) + at) =
        __floats2bfloat162_rn(x0, x1);
  }
}

template <Precision P, RowKind kKind>
__global__ void __launch_bounds__(kThreads, 2)
    ProductKernel(const DeviceRows x, const uint32_t* picked, size_t rows, const float* w,
                  uint32_t depth_padded, uint32_t columns_padded, const DeviceRows y, bool relu) {
  extern __shared__ __align__(128) float shared[];
  const size_t first_row = static_cast<size_t>(blockIdx.y) * kRows;
  const int warp = threadIdx.x >> 5, m0 = warp / 2 * 32, n0 = warp % 2 * 32;
  const int stages = static_cast<int>(depth_padded) / kDepth;
  const auto fill = [&](int s) {
    if (s < stages) {
      FillStage<kKind>(shared + s % kStages * kStageFloats, x, picked, first_row, rows, w, columns_padded,
                       s * kDepth);
    }
    CopyCommit();
  };
  fill(0);
  fill(1);
  WarpSums<2, 4> sums;
  sums.Clear();
  for (int s = 0; s < stages; ++s) {
    CopyWait<1>();
    __syncthreads();
    fill(s + 2);
    const Tile tile{shared + s % kStages * kStageFloats, kDepth},
        weights{tile.data + kRows * kDepth, kColumns};
    WarpMultiply<P, true>(sums, AlongRows(tile, m0), AcrossRows<4>(weights, n0), 0, kDepth);
  }
  sums.ForEachPair([&](int m, int n, float x0, float x1) {
    const size_t row = first_row + m0 + m, column = static_cast<size_t>(blockIdx.x) * kColumns + n0 + n;
    if (row >= rows || column >= y.stride) return;
    if (relu) x0 = Relu(x0), x1 = Relu(x1);
    StorePair(y, row * y.stride + column, x0, x1);
  });
}

template <Precision P>
auto KernelOf(RowKind kind) {
  return kind == RowKind::kF16    ? ProductKernel<P, RowKind::kF16>
         : kind == RowKind::kBf16 ? ProductKernel<P, RowKind::kBf16>
                                  : ProductKernel<P, RowKind::kF32>;
}

}  // namespace

void LaunchProduct(const DeviceRows& x, const uint32_t* picked, size_t rows, const float* w,
                   uint32_t depth_padded, uint32_t columns_padded, const DeviceRows& y, bool relu,
                   Precision precision, cudaStream_t stream) {
  if (rows == 0) return;
  const auto kernel = precision == Precision::kFp32   ? KernelOf<Precision::kFp32>(x.kind)
                      : precision == Precision::kBf16 ? KernelOf<Precision::kBf16>(x.kind)
                                                      : KernelOf<Precision::kTf32>(x.kind);
  Check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(kSharedBytes)),
        "setting up a product");
  // Rows beyond what one grid dimension holds go into further launches.
  constexpr size_t kMost = 65535;
  for (size_t first = 0; first < rows; first += kMost * kRows) {
    const size_t some = std::min(rows - first, kMost * kRows);
    DeviceRows from = x, to = y;
    to.dense = static_cast<char*>(y.dense) + first * y.stride * ElementBytes(y.kind);
    if (picked == nullptr) from.dense = static_cast<char*>(x.dense) + first * x.stride * ElementBytes(x.kind);
    const dim3 grid(columns_padded / kColumns, static_cast<unsigned>((some + kRows - 1) / kRows));
    kernel<<<grid, kThreads, kSharedBytes, stream>>>(from, picked == nullptr ? nullptr : picked + first, some,
                                                     w, depth_padded, columns_padded, to, relu);
    Check(cudaGetLastError(), "launching a product");
  }
}

}  // namespace l2gcn::cuda
