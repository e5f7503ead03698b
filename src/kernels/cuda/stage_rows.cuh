// Feature rows of the steps to come, from host memory, while the training kernel works on those before.
#pragma once

#include "kernels/cuda/train_block.cuh"

namespace l2gcn::cuda {

// Brings the rows of steps first … last−1, in the order the training kernel takes them, from host memory into
// staging (steps·batch × stride); one warp a row. A few blocks suffice to fill the bus.
__global__ void __launch_bounds__(kStageThreads)
    StageRowsKernel(const __grid_constant__ TrainArguments a, float* staging) {
  const int lane = threadIdx.x & 31, warps = kStageThreads / 32 * gridDim.x;
  uint32_t epoch = 0xFFFFFFFFu;
  Permutation order;
  const uint64_t rows = (a.last_step - a.first_step) * a.batch;
  const int stride = static_cast<int>(a.x.stride);
  for (uint64_t i = blockIdx.x * (kStageThreads / 32) + (threadIdx.x >> 5); i < rows; i += warps) {
    const uint64_t step = a.first_step + i / a.batch;
    const uint32_t position =
        static_cast<uint32_t>(step % a.steps_per_epoch) * a.batch + static_cast<uint32_t>(i % a.batch);
    const uint32_t now = a.first_epoch + static_cast<uint32_t>(step / a.steps_per_epoch);
    if (now != epoch) {
      order = OrderOf(a, now);
      epoch = now;
    }
    if (position >= a.count) continue;
    const uint32_t sample = order(position);
    const size_t row = a.samples == nullptr ? sample : __ldg(a.samples + sample);
    const float4* from = reinterpret_cast<const float4*>(static_cast<const float*>(a.x.dense) + row * stride);
    float4* to = reinterpret_cast<float4*>(staging + i * stride);
#pragma unroll 4
    for (int c = lane; c < stride / 4; c += 32) to[c] = from[c];
  }
}

}  // namespace l2gcn::cuda
