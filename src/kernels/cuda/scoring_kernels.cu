// A warp takes a row of logits; lanes take every 32nd class.
#include "kernels/cuda/check.h"
#include "kernels/cuda/scoring_kernels.h"

namespace l2gcn::cuda {
namespace {

constexpr unsigned kLanes = 0xFFFFFFFFu;
constexpr int kThreads = 256, kWarps = kThreads / 32;

struct RowScore {
  float loss;
  uint32_t true_positive, false_positive, false_negative;
};

template <class T>
__device__ __forceinline__ T SumOfLanes(T x) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(kLanes, x, offset);
  return x;
}

__device__ __forceinline__ float Logit(const ScoreArguments& a, const float* z, uint32_t c) {
  return a.bias == nullptr ? z[c] : z[c] + a.bias[c];
}

// One class a row: the largest logit, the first of equals, is the answer.
__device__ RowScore SoftmaxScore(const ScoreArguments& a, const float* z, uint32_t lane, uint32_t target) {
  float top = -INFINITY;
  uint32_t answer = a.classes;
  for (uint32_t c = lane; c < a.classes; c += 32) {
    const float x = Logit(a, z, c);
    if (x > top || answer == a.classes) top = x, answer = c;
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(kLanes, top, offset);
    const uint32_t its = __shfl_xor_sync(kLanes, answer, offset);
    if (other > top || (other == top && its < answer)) top = other, answer = its;
  }
  float sum = 0;
  for (uint32_t c = lane; c < a.classes; c += 32) sum += expf(Logit(a, z, c) - top);
  sum = SumOfLanes(sum);
  const uint32_t right = answer == target ? 1 : 0;
  return {logf(sum) - (Logit(a, z, target) - top), right, 1 - right, 1 - right};
}

__device__ RowScore SigmoidScore(const ScoreArguments& a, const float* z, uint32_t lane, const uint8_t* on) {
  RowScore score{0, 0, 0, 0};
  for (uint32_t c = lane; c < a.classes; c += 32) {
    const float x = Logit(a, z, c);
    const bool predicted = x > 0, actual = on[c] != 0;
    score.loss += fmaxf(x, 0.0f) - (actual ? x : 0.0f) + log1pf(expf(-fabsf(x)));
    score.true_positive += predicted && actual;
    score.false_positive += predicted && !actual;
    score.false_negative += !predicted && actual;
  }
  return {SumOfLanes(score.loss) / static_cast<float>(a.classes), SumOfLanes(score.true_positive),
          SumOfLanes(score.false_positive), SumOfLanes(score.false_negative)};
}

__device__ RowScore RegressionScore(const ScoreArguments& a, const float* z, uint32_t lane, size_t row) {
  const float* truth = a.regression.values + row * a.classes;
  float loss = 0;
  uint32_t present = 0;
  for (uint32_t c = lane; c < a.classes; c += 32) {
    if (isnan(truth[c])) continue;
    loss += DifferenceLoss(a.regression.loss, Logit(a, z, c) - truth[c]);
    ++present;
  }
  loss = SumOfLanes(loss), present = SumOfLanes(present);
  return {present == 0 ? 0.0f : loss / static_cast<float>(present), 0, 0, 0};
}

__device__ RowScore ScoreOf(const ScoreArguments& a, const float* z, uint32_t lane, size_t row) {
  if (a.regression.values != nullptr) return RegressionScore(a, z, lane, row);
  if (a.label_rows != nullptr) return SigmoidScore(a, z, lane, a.label_rows + row * a.label_bytes);
  return SoftmaxScore(a, z, lane, static_cast<uint32_t>(a.classes_of[row]));
}

// How far the row's answer is off (kernels/row_loss.h).
__device__ __forceinline__ float MissOf(const ScoreArguments& a, const RowScore& score) {
  if (a.regression.values != nullptr) return score.loss / (1 + score.loss);
  if (a.label_rows == nullptr) return -expm1f(-score.loss);
  const uint32_t one = score.false_positive + score.false_negative, both = score.true_positive;
  return both + one == 0 ? 0.0f : static_cast<float>(one) / static_cast<float>(2 * both + one);
}

// How far the row's logits are ahead of that of its class (kernels/row_loss.h).
__device__ void WriteMargins(const ScoreArguments& a, const float* z, uint32_t lane, size_t row) {
  const float truth = Logit(a, z, static_cast<uint32_t>(a.classes_of[row]));
  for (uint32_t c = lane; c < a.classes; c += 32) a.margins[row * a.classes + c] = Logit(a, z, c) - truth;
}

__global__ void __launch_bounds__(kThreads) ScoreKernel(const ScoreArguments a) {
  __shared__ uint32_t sums[3];
  if (threadIdx.x < 3) sums[threadIdx.x] = 0;
  __syncthreads();
  const uint32_t lane = threadIdx.x & 31;
  uint32_t counts[3] = {0, 0, 0};
  for (size_t row = blockIdx.x * static_cast<size_t>(kWarps) + (threadIdx.x >> 5); row < a.rows;
       row += static_cast<size_t>(gridDim.x) * kWarps) {
    const float* z = a.z + row * a.stride;
    const RowScore score = ScoreOf(a, z, lane, row);
    if (lane == 0) a.losses[row] = score.loss, a.misses[row] = MissOf(a, score);
    if (a.margins != nullptr) WriteMargins(a, z, lane, row);
    counts[0] += score.true_positive, counts[1] += score.false_positive, counts[2] += score.false_negative;
  }
  if (lane < 3) atomicAdd(&sums[lane], counts[lane]);
  __syncthreads();
  if (threadIdx.x < 3) atomicAdd(&a.counts[threadIdx.x], static_cast<unsigned long long>(sums[threadIdx.x]));
}

__global__ void __launch_bounds__(kThreads)
    PickElementsKernel(const float* from, const uint32_t* places, size_t count, float* to) {
  const size_t i = blockIdx.x * static_cast<size_t>(kThreads) + threadIdx.x;
  if (i < count) to[i] = places[i] == kNoPlace ? 0.0f : from[places[i]];
}

unsigned BlocksFor(size_t items, size_t each) { return static_cast<unsigned>((items + each - 1) / each); }

}  // namespace

void LaunchScore(const ScoreArguments& a, cudaStream_t stream) {
  if (a.rows == 0) return;
  constexpr unsigned kMostBlocks = 2048;
  ScoreKernel<<<min(BlocksFor(a.rows, kWarps), kMostBlocks), kThreads, 0, stream>>>(a);
  Check(cudaGetLastError(), "launching a score");
}

void LaunchPickElements(const float* from, const uint32_t* places, size_t count, float* to,
                        cudaStream_t stream) {
  if (count == 0) return;
  PickElementsKernel<<<BlocksFor(count, kThreads), kThreads, 0, stream>>>(from, places, count, to);
  Check(cudaGetLastError(), "picking elements");
}

}  // namespace l2gcn::cuda
