// What a weight of 1 counts in the loss of each step: 1 / Σ weights[class] over the step's samples. A block a
// step; sums are taken in double, in an order that depends on nothing but the batch.
#pragma once

#include "kernels/cuda/train_block.cuh"
#include "kernels/cuda/train_kernel.h"

namespace l2gcn::cuda {

constexpr int kShareThreads = 256;

__global__ void BatchSharesKernel(TrainArguments a) {
  __shared__ double sums[kShareThreads];
  const uint64_t step = a.first_step + blockIdx.x;
  const Permutation order = OrderOf(a, a.first_epoch + static_cast<uint32_t>(step / a.steps_per_epoch));
  const uint32_t begin = static_cast<uint32_t>(step % a.steps_per_epoch) * a.batch;
  const uint32_t end = min(a.count, begin + a.batch);
  double sum = 0;
  for (uint32_t i = begin + threadIdx.x; i < end; i += kShareThreads) {
    sum += static_cast<double>(a.weights[a.classes_of[order(i)]]);
  }
  sums[threadIdx.x] = sum;
  for (int half = kShareThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) a.shares[blockIdx.x] = static_cast<float>(1.0 / sums[0]);
}

}  // namespace l2gcn::cuda
