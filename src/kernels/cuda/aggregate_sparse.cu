// Aggregation of sparse rows: one warp per row of the sum.
//
// The warp keeps the sum in shared memory, a window of columns at a time, with a bit per column that was
// touched, and adds one neighbour's row after another (ascending, then the node itself); within a row columns
// do not repeat, so no two lanes meet. Touched columns then leave in ascending order.
#include <algorithm>

#include "kernels/cuda/aggregate.h"
#include "kernels/cuda/check.h"
#include "kernels/cuda/row_access.cuh"

namespace l2gcn::cuda {
namespace {

constexpr int kWarps = 4;
constexpr uint32_t kWindow = 2048;  // columns

enum class Leave { kCount, kSparse, kDense };

struct SparseOut {
  uint32_t* counts = nullptr;
  const uint64_t* indptr = nullptr;
  uint32_t* columns = nullptr;
  float* values = nullptr;
  DeviceRows dense;
};

template <Leave kLeave>
class RowSum {
 public:
  __device__ RowSum(const DeviceRows& x, float* sum, uint32_t* touched)
      : x_(x), sum_(sum), touched_(touched), lane_(threadIdx.x & 31) {}

  __device__ void Open(uint32_t first) {
    first_ = first;
    for (uint32_t i = lane_; i < kWindow; i += 32) sum_[i] = 0;
    for (uint32_t i = lane_; i < kWindow / 32; i += 32) touched_[i] = 0;
    __syncwarp();
  }
  __device__ void Add(size_t row, float factor) {
    const uint64_t end = __ldg(x_.indptr + row + 1);
    for (uint64_t e = __ldg(x_.indptr + row) + lane_; e < end; e += 32) {
      const uint32_t column = __ldg(x_.columns + e) - first_;
      if (column >= kWindow) continue;
      if constexpr (kLeave != Leave::kCount) sum_[column] += factor * __ldg(x_.values + e);
      if constexpr (kLeave != Leave::kDense) atomicOr(touched_ + column / 32, 1u << (column % 32));
    }
    __syncwarp();
  }
  __device__ uint32_t Count() const {
    uint32_t count = 0;
    for (uint32_t i = lane_; i < kWindow / 32; i += 32) count += __popc(touched_[i]);
    for (int offset = 16; offset > 0; offset >>= 1) count += __shfl_xor_sync(0xFFFFFFFFu, count, offset);
    return count;
  }
  __device__ uint64_t Write(uint64_t at, uint32_t* columns, float* values) const {
    for (uint32_t word = 0; word < kWindow / 32; ++word) {
      const uint32_t bits = touched_[word];
      if (bits >> lane_ & 1) {
        const uint64_t place = at + __popc(bits & ((1u << lane_) - 1));
        columns[place] = first_ + word * 32 + lane_;
        values[place] = sum_[word * 32 + lane_];
      }
      at += __popc(bits);
    }
    return at;
  }
  __device__ void WriteDense(const DeviceRows& out, size_t row) const {
    const uint32_t count = min(kWindow, static_cast<uint32_t>(out.stride) - first_);
    for (uint32_t c = lane_ * 4; c < count; c += 128) {
      const float4 x = *reinterpret_cast<const float4*>(sum_ + c);
      const size_t at = row * out.stride + first_ + c;
      if (out.kind == RowKind::kF32) {
        Store4<RowKind::kF32>(out.dense, at, x);
      } else if (out.kind == RowKind::kF16) {
        Store4<RowKind::kF16>(out.dense, at, x);
      } else {
        Store4<RowKind::kBf16>(out.dense, at, x);
      }
    }
  }

 private:
  const DeviceRows& x_;
  float* sum_;         // (kWindow)
  uint32_t* touched_;  // (kWindow bits)
  const uint32_t lane_;
  uint32_t first_ = 0;
};

template <Leave kLeave>
__global__ void __launch_bounds__(kWarps * 32)
    SparseKernel(const AggregateArguments a, const DeviceRows x, uint32_t columns, const SparseOut out) {
  __shared__ __align__(16) float sums[kWarps][kWindow];
  __shared__ uint32_t touched[kWarps][kWindow / 32];
  const int warp = threadIdx.x >> 5;
  const uint32_t node = blockIdx.x * kWarps + warp;
  if (node >= a.nodes) return;
  RowSum<kLeave> sum(x, sums[warp], touched[warp]);
  const auto source = [&](uint32_t n) { return a.row_of_node == nullptr ? n : __ldg(a.row_of_node + n); };
  uint32_t count = 0;
  uint64_t at = kLeave == Leave::kSparse ? out.indptr[node] : 0;
  const uint32_t width = kLeave == Leave::kDense ? static_cast<uint32_t>(out.dense.stride) : columns;
  for (uint32_t first = 0; first < width; first += kWindow) {
    sum.Open(first);
    for (uint64_t e = a.indptr[node]; e < a.indptr[node + 1]; ++e) {
      const uint32_t neighbour = __ldg(a.indices + e);
      float factor = a.row_scale[node];
      if (a.weights != nullptr) factor *= __ldg(a.weights + e);
      if (a.col_scale != nullptr) factor *= __ldg(a.col_scale + neighbour);
      sum.Add(source(neighbour), factor);
    }
    sum.Add(source(a.first_node + node), a.self_scale[node]);
    if constexpr (kLeave == Leave::kCount) count += sum.Count();
    if constexpr (kLeave == Leave::kSparse) at = sum.Write(at, out.columns, out.values);
    if constexpr (kLeave == Leave::kDense) sum.WriteDense(out.dense, node);
    __syncwarp();
  }
  if (kLeave == Leave::kCount && threadIdx.x % 32 == 0) out.counts[node] = count;
}

template <Leave kLeave>
void LaunchSparse(const AggregateArguments& a, const DeviceRows& x, uint32_t columns, const SparseOut& out,
                  cudaStream_t stream) {
  if (a.nodes == 0) return;
  SparseKernel<kLeave><<<(a.nodes + kWarps - 1) / kWarps, kWarps * 32, 0, stream>>>(a, x, columns, out);
  Check(cudaGetLastError(), "launching the sparse aggregation");
}

}  // namespace

void LaunchCountEntries(const AggregateArguments& a, const DeviceRows& x, uint32_t columns, uint32_t* counts,
                        cudaStream_t stream) {
  SparseOut out;
  out.counts = counts;
  LaunchSparse<Leave::kCount>(a, x, columns, out, stream);
}

void LaunchAggregateSparse(const AggregateArguments& a, const DeviceRows& x, uint32_t columns,
                           const uint64_t* out_indptr, uint32_t* out_columns, float* out_values,
                           cudaStream_t stream) {
  SparseOut out;
  out.indptr = out_indptr;
  out.columns = out_columns;
  out.values = out_values;
  LaunchSparse<Leave::kSparse>(a, x, columns, out, stream);
}

void LaunchAggregateToDense(const AggregateArguments& a, const DeviceRows& x, uint32_t columns,
                            const DeviceRows& dense, cudaStream_t stream) {
  SparseOut out;
  out.dense = dense;
  LaunchSparse<Leave::kDense>(a, x, columns, out, stream);
}

}  // namespace l2gcn::cuda
