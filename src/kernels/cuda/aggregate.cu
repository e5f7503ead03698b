// Dense aggregation: one team of lanes per row and column tile, gathering neighbours' tiles with 16-byte
// loads.
//
// A tile is 4·kLanes columns. Degree decides the team: kLanes lanes for light nodes, a warp for middle ones,
// a block of eight warps for heavy ones. A team reads as many indices at a time as it has lanes (coalesced)
// and hands them out by shuffles; its 32/kLanes sub-teams take neighbours in turn and are added in a fixed
// order, so the result does not depend on timing. Blocks of one tile come before those of the next, so that a
// tile of x is fetched from memory about once and then from L2.
#include <algorithm>

#include "kernels/cuda/aggregate.h"
#include "kernels/cuda/check.h"
#include "kernels/cuda/relu.cuh"
#include "kernels/cuda/row_access.cuh"

namespace l2gcn::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kInFlight = 4;  // neighbours a sub-team has under way

__device__ __forceinline__ void AddScaled(float4& sum, float factor, const float4& x) {
  sum.x += factor * x.x, sum.y += factor * x.y, sum.z += factor * x.z, sum.w += factor * x.w;
}

// Σ over entries begin … end−1 of weight · col · x, for this lane's four columns; the sum is complete in
// every sub-team. kTeam lanes work together, `mask` names them, `rank` is this lane's number among them.
template <RowKind kKind, int kLanes, int kTeam>
__device__ float4 SumNeighbours(const AggregateArguments& a, const DeviceRows& x, uint64_t begin,
                                uint64_t end, uint64_t stride, size_t column, bool active, uint32_t mask,
                                int rank) {
  constexpr int kSubTeams = kTeam / kLanes;
  float4 sum = make_float4(0, 0, 0, 0);
  for (uint64_t e = begin; e < end; e += stride) {
    const int count = static_cast<int>(min(static_cast<uint64_t>(kTeam), end - e));
    uint32_t source = 0;
    float factor = 0;
    if (rank < count) {
      const uint32_t node = __ldg(a.indices + e + rank);
      factor = a.weights == nullptr ? 1.0f : __ldg(a.weights + e + rank);
      if (a.col_scale != nullptr) factor *= __ldg(a.col_scale + node);
      source = a.row_of_node == nullptr ? node : __ldg(a.row_of_node + node);
    }
    for (int j = rank / kLanes; j < count + rank / kLanes; j += kSubTeams * kInFlight) {
      float4 value[kInFlight];
      float by[kInFlight];
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        const int from = j + i * kSubTeams;
        const uint32_t row = __shfl_sync(mask, source, from, kTeam);
        by[i] = __shfl_sync(mask, factor, from, kTeam);
        value[i] =
            from < count && active ? Load4<kKind>(x.dense, row * x.stride + column) : make_float4(0, 0, 0, 0);
      }
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        if (j + i * kSubTeams < count) AddScaled(sum, by[i], value[i]);
      }
    }
  }
#pragma unroll
  for (int offset = kLanes; offset < kTeam; offset *= 2) {
    sum.x += __shfl_xor_sync(mask, sum.x, offset, kTeam);
    sum.y += __shfl_xor_sync(mask, sum.y, offset, kTeam);
    sum.z += __shfl_xor_sync(mask, sum.z, offset, kTeam);
    sum.w += __shfl_xor_sync(mask, sum.w, offset, kTeam);
  }
  return sum;
}

template <RowKind kKind>
__device__ void Finish(const AggregateArguments& a, const DeviceRows& x, const DeviceRows& out, uint32_t node,
                       size_t column, bool relu, const float4& sum) {
  float4 result = make_float4(0, 0, 0, 0);
  AddScaled(result, a.row_scale == nullptr ? 1.0f : a.row_scale[node], sum);
  if (a.self_scale != nullptr) {
    const size_t own = static_cast<size_t>(a.first_node) + node;
    const size_t source = a.row_of_node == nullptr ? own : a.row_of_node[own];
    AddScaled(result, a.self_scale[node], Load4<kKind>(x.dense, source * x.stride + column));
  }
  if (relu) result = Relu(result);
  Store4<kKind>(out.dense, node * out.stride + column, result);
}

// Grid: x = blocks of heavy nodes, then of middle ones, then of light ones; y = column tiles.
template <RowKind kKind, int kLanes>
__global__ void __launch_bounds__(kThreads)
    AggregateKernel(const AggregateArguments a, const DeviceRows x, const DeviceRows out, uint32_t columns,
                    bool relu, uint32_t middle_blocks) {
  __shared__ float4 sums[kWarps][kLanes];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const size_t column = (static_cast<size_t>(blockIdx.y) * kLanes + lane % kLanes) * 4;
  const bool active = column < columns;
  const auto node_at = [&](uint32_t position) {
    return a.order == nullptr ? position : __ldg(a.order + position);
  };
  const auto begin_of = [&](uint32_t node) {
    return a.indptr + (a.picked == nullptr ? node : __ldg(a.picked + node));
  };
  if (blockIdx.x < a.heavy) {
    const uint32_t node = node_at(blockIdx.x);
    const uint64_t* range = begin_of(node);
    const uint64_t begin = range[0] + static_cast<uint64_t>(warp) * 32;
    const float4 part =
        SumNeighbours<kKind, kLanes, 32>(a, x, begin, range[1], kThreads, column, active, 0xFFFFFFFFu, lane);
    if (lane < kLanes) sums[warp][lane] = part;
    __syncthreads();
    if (warp > 0 || lane >= kLanes || !active) return;
    float4 sum = sums[0][lane];
    for (int w = 1; w < kWarps; ++w) AddScaled(sum, 1.0f, sums[w][lane]);
    Finish<kKind>(a, x, out, node, column, relu, sum);
  } else if (blockIdx.x < a.heavy + middle_blocks) {
    const uint32_t position = (blockIdx.x - a.heavy) * kWarps + warp;
    if (position >= a.middle) return;
    const uint32_t node = node_at(a.heavy + position);
    const uint64_t* range = begin_of(node);
    const float4 sum =
        SumNeighbours<kKind, kLanes, 32>(a, x, range[0], range[1], 32, column, active, 0xFFFFFFFFu, lane);
    if (lane < kLanes && active) Finish<kKind>(a, x, out, node, column, relu, sum);
  } else {
    const uint32_t position =
        (blockIdx.x - a.heavy - middle_blocks) * (kThreads / kLanes) + threadIdx.x / kLanes;
    if (position >= a.nodes - a.heavy - a.middle) return;
    const uint32_t node = node_at(a.heavy + a.middle + position);
    const int rank = lane % kLanes;
    const uint32_t mask = kLanes == 32 ? 0xFFFFFFFFu : ((1u << (kLanes & 31)) - 1) << (lane - rank);
    const uint64_t* range = begin_of(node);
    const float4 sum =
        SumNeighbours<kKind, kLanes, kLanes>(a, x, range[0], range[1], kLanes, column, active, mask, rank);
    if (active) Finish<kKind>(a, x, out, node, column, relu, sum);
  }
}

template <RowKind kKind, int kLanes>
void LaunchKind(const AggregateArguments& a, const DeviceRows& x, const DeviceRows& out, uint32_t columns,
                bool relu, cudaStream_t stream) {
  const uint32_t middle_blocks = (a.middle + kWarps - 1) / kWarps;
  const uint32_t light = a.nodes - a.heavy - a.middle, per_block = kThreads / kLanes;
  const dim3 grid(a.heavy + middle_blocks + (light + per_block - 1) / per_block,
                  (columns + 4 * kLanes - 1) / (4 * kLanes));
  AggregateKernel<kKind, kLanes><<<grid, kThreads, 0, stream>>>(a, x, out, columns, relu, middle_blocks);
}

template <RowKind kKind>
void LaunchLanes(const AggregateArguments& a, const DeviceRows& x, const DeviceRows& out, uint32_t columns,
                 bool relu, cudaStream_t stream, int lanes) {
  if (lanes == 8) {
    LaunchKind<kKind, 8>(a, x, out, columns, relu, stream);
  } else if (lanes == 16) {
    LaunchKind<kKind, 16>(a, x, out, columns, relu, stream);
  } else {
    LaunchKind<kKind, 32>(a, x, out, columns, relu, stream);
  }
}

template <RowKind kFrom, RowKind kTo>
__global__ void CopyColumnsKernel(const DeviceRows from, size_t first, const DeviceRows to, size_t rows,
                                  uint32_t quads) {
  const size_t count = rows * quads;
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<size_t>(gridDim.x) * blockDim.x) {
    const size_t row = i / quads, column = (i - row * quads) * 4;
    Store4<kTo>(to.dense, row * to.stride + column,
                Load4<kFrom>(from.dense, row * from.stride + first + column));
  }
}

}  // namespace

int LanesFor(const AggregateArguments& a, size_t columns) {
  // Narrow tiles keep popular rows in L1 where rows are gathered often; wide ones read rows of small degree
  // at once.
  const uint64_t degree = a.nodes == 0 ? 0 : a.entries / a.nodes;
  return columns <= 32 || degree >= 128 ? 8 : columns <= 64 || degree >= 32 ? 16 : 32;
}

void LaunchAggregate(const AggregateArguments& a, const DeviceRows& x, const DeviceRows& out,
                     uint32_t columns, bool relu, cudaStream_t stream, int lanes) {
  if (a.nodes == 0) return;
  AggregateArguments all = a;
  if (a.order == nullptr) all.heavy = 0, all.middle = a.nodes;
  if (lanes == 0) lanes = LanesFor(a, columns);
  if (x.kind == RowKind::kF16) {
    LaunchLanes<RowKind::kF16>(all, x, out, columns, relu, stream, lanes);
  } else if (x.kind == RowKind::kBf16) {
    LaunchLanes<RowKind::kBf16>(all, x, out, columns, relu, stream, lanes);
  } else {
    LaunchLanes<RowKind::kF32>(all, x, out, columns, relu, stream, lanes);
  }
  Check(cudaGetLastError(), "launching the aggregation");
}

void LaunchCopyColumns(const DeviceRows& from, size_t first, const DeviceRows& to, size_t rows,
                       uint32_t columns, cudaStream_t stream) {
  const uint32_t quads = columns / 4;
  if (rows * quads == 0) return;
  const unsigned blocks =
      static_cast<unsigned>(std::min<size_t>((rows * quads + kThreads - 1) / kThreads, 4096));
  const auto launch = [&](auto kernel) {
    kernel<<<blocks, kThreads, 0, stream>>>(from, first, to, rows, quads);
  };
  constexpr RowKind kF32 = RowKind::kF32, kF16 = RowKind::kF16, kBf16 = RowKind::kBf16;
  if (from.kind == to.kind) {
    launch(from.kind == kF32   ? CopyColumnsKernel<kF32, kF32>
           : from.kind == kF16 ? CopyColumnsKernel<kF16, kF16>
                               : CopyColumnsKernel<kBf16, kBf16>);
  } else if (from.kind == kF32) {
    launch(to.kind == kF16 ? CopyColumnsKernel<kF32, kF16> : CopyColumnsKernel<kF32, kBf16>);
  } else {
    launch(from.kind == kF16 ? CopyColumnsKernel<kF16, kF32> : CopyColumnsKernel<kBf16, kF32>);
  }
  Check(cudaGetLastError(), "launching a copy");
}

}  // namespace l2gcn::cuda
