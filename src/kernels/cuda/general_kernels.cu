// A warp takes a row wherever something is summed along rows; lanes take four neighbouring columns at a time. Where
// sums over rows are wanted too, a block takes a chunk of rows: when all its warps are done, each of its threads adds
// up a column of the chunk, whose rows are still in the cache.
#include <algorithm>

#include "kernels/cuda/check.h"
#include "kernels/cuda/general_kernels.h"
#include "kernels/cuda/relu.cuh"
#include "kernels/cuda/row_access.cuh"
#include "kernels/norm_constants.h"

namespace l2gcn::cuda {
namespace {

constexpr unsigned kAll = 0xFFFFFFFFu;
constexpr int kThreads = 256, kWarps = kThreads / 32, kChunkThreads = kChunkWarps * 32;

template <class T>
__device__ __forceinline__ T WarpSum(T x) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(kAll, x, offset);
  return x;
}
__device__ __forceinline__ float WarpMax(float x) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) x = fmaxf(x, __shfl_xor_sync(kAll, x, offset));
  return x;
}

__device__ __forceinline__ float4& At4(float* base, size_t at) {
  return *reinterpret_cast<float4*>(base + at);
}
__device__ __forceinline__ float4 At4(const float* base, size_t at) {
  return *reinterpret_cast<const float4*>(base + at);
}

__device__ __forceinline__ float4 Dropped(float4 x, uint32_t key, uint32_t column, const Dropping& dropping) {
  x.x = DropsColumn(key, column, dropping.threshold) ? 0.0f : x.x * dropping.scale;
  x.y = DropsColumn(key, column + 1, dropping.threshold) ? 0.0f : x.y * dropping.scale;
  x.z = DropsColumn(key, column + 2, dropping.threshold) ? 0.0f : x.z * dropping.scale;
  x.w = DropsColumn(key, column + 3, dropping.threshold) ? 0.0f : x.w * dropping.scale;
  return x;
}

// v where the column lies before `width`, else 0.
__device__ __forceinline__ float4 Inside(float4 v, uint32_t column, uint32_t width) {
  if (column + 4 <= width) return v;
  if (column >= width) v.x = 0;
  if (column + 1 >= width) v.y = 0;
  if (column + 2 >= width) v.z = 0;
  v.w = 0;
  return v;
}

// ---- gathering ------------------------------------------------------------------------------------------------

template <RowKind kTo>
__device__ __forceinline__ void StoreElement(void* base, size_t at, float x) {
  if constexpr (kTo == RowKind::kF32) {
    static_cast<float*>(base)[at] = x;
  } else {
    static_cast<__nv_bfloat16*>(base)[at] = __float2bfloat16_rn(x);
  }
}

template <RowKind kFrom, RowKind kTo>
__device__ __forceinline__ void GatherDense(const void* from, size_t source, void* to, size_t target,
                                            int width, uint32_t first, bool drops, uint32_t key,
                                            const Dropping& dropping) {
#pragma unroll 4
  for (int c = (threadIdx.x & 31) * 4; c < width; c += 128) {
    float4 x = Load4<kFrom>(from, source + c);
    if (drops) x = Dropped(x, key, first + c, dropping);
    Store4<kTo>(to, target + c, x);
  }
}

template <RowKind kTo>
__global__ void __launch_bounds__(kThreads)
    GatherKernel(const BlockRows x, const uint32_t* rows, size_t first, size_t count, void* to, size_t stride,
                 const Dropping dropping) {
  const size_t i = static_cast<size_t>(blockIdx.x) * kWarps + (threadIdx.x >> 5);
  if (i >= count) return;
  const int p = blockIdx.y, lane = threadIdx.x & 31, width = static_cast<int>(x.width[p]);
  const size_t target = i * stride + x.at[p];
  const bool inside = rows == nullptr || rows[i] != kNoRow;
  const DeviceRows part = x.part[p];
  if (!inside || part.kind == RowKind::kSparse) {
    for (int c = lane * 4; c < width; c += 128) Store4<kTo>(to, target + c, make_float4(0, 0, 0, 0));
    if (!inside) return;
  }
  const size_t row = rows == nullptr ? first + i : rows[i];
  const bool drops = dropping.keys != nullptr;
  const uint32_t key = drops ? dropping.keys[i] : 0, column = x.first[p];
  if (part.kind == RowKind::kSparse) {
    __syncwarp();  // the zeros are written before the entries
    const uint64_t end = part.indptr[row + 1];
    for (uint64_t e = part.indptr[row] + lane; e < end; e += 32) {
      const uint32_t c = part.columns[e];
      if (drops && DropsColumn(key, column + c, dropping.threshold)) continue;
      StoreElement<kTo>(to, target + c, drops ? part.values[e] * dropping.scale : part.values[e]);
    }
    return;
  }
  const size_t source = row * part.stride;
  if (part.kind == RowKind::kF32) {
    GatherDense<RowKind::kF32, kTo>(part.dense, source, to, target, width, column, drops, key, dropping);
  } else if (part.kind == RowKind::kF16) {
    GatherDense<RowKind::kF16, kTo>(part.dense, source, to, target, width, column, drops, key, dropping);
  } else {
    GatherDense<RowKind::kBf16, kTo>(part.dense, source, to, target, width, column, drops, key, dropping);
  }
}

// ---- drawing --------------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(kThreads) DrawKernel(const BatchDraw a) {
  const StepCursor at = *a.cursor;
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x, begin = at.step * a.batch;
  const uint32_t size = min(a.batch, a.count - begin), name = static_cast<uint32_t>(at.done);
  // A lane draws a key of the permutation for its whole warp.
  const uint32_t key = RandomStream(a.seed, RandomUse::kShuffle, a.layer, at.epoch).Word(threadIdx.x & 31);
  Permutation order = a.order;
#pragma unroll
  for (int round = 0; round < Permutation::kRounds; ++round)
    order.keys[round] = __shfl_sync(kAll, key, round);
  if (i == 0) {
    StepNow now;
    now.size = size;
    now.terms = a.multilabel ? static_cast<double>(size) * a.classes : static_cast<double>(size);
    now.scale = 1.0f / static_cast<float>(now.terms);
    now.rate = a.lr * a.decay.Share(at.done);
    const auto adam = [&](uint64_t steps, float& step_size, float& inverse_bias) {
      const double t = static_cast<double>(steps + 1);
      step_size = static_cast<float>(now.rate / (1.0 - pow(static_cast<double>(a.beta1), t)));
      inverse_bias = static_cast<float>(1.0 / sqrt(1.0 - pow(static_cast<double>(a.beta2), t)));
    };
    adam(at.w_steps, now.w_step_size, now.w_inverse_bias);
    adam(at.other_steps, now.other_step_size, now.other_inverse_bias);
    *a.now = now;
  }
  if (i >= a.batch) return;
  if (i >= size) {
    a.drawn[i] = 0;
    a.rows[i] = kNoRow;
  } else {
    const uint32_t sample = order(begin + i);
    a.drawn[i] = sample;
    a.rows[i] = a.samples == nullptr ? sample : a.samples[sample];
  }
  if (a.input_keys != nullptr)
    a.input_keys[i] = RandomStream(a.seed, RandomUse::kInputDropout, a.layer, name).Word(i);
  if (a.hidden_keys != nullptr)
    a.hidden_keys[i] = RandomStream(a.seed, RandomUse::kDropout, a.layer, name).Word(i);
  if (a.head_keys != nullptr)
    a.head_keys[i] = RandomStream(a.seed, RandomUse::kHeadDropout, a.layer, name).Word(i);
}

// What a sample's loss is weighted with. Of a regression: times its targets that are not missing.
__device__ __forceinline__ double TermsOf(const BatchDraw& a, uint32_t sample) {
  if (a.regression.values == nullptr) return static_cast<double>(a.weights[a.classes_of[sample]]);
  const float* row = a.regression.values + static_cast<size_t>(sample) * a.classes;
  uint32_t present = 0;
  for (uint32_t c = 0; c < a.classes; ++c) present += isnan(row[c]) ? 0 : 1;
  const float weight = a.regression.weights != nullptr ? a.regression.weights[sample] : 1.0f;
  return static_cast<double>(weight) * present;
}

// The weights of a batch, summed in double by one block.
__global__ void __launch_bounds__(kChunkThreads) TermsKernel(const BatchDraw a) {
  __shared__ double sums[kChunkThreads];
  const uint32_t size = a.now->size;
  double sum = 0;
  for (uint32_t i = threadIdx.x; i < size; i += kChunkThreads) sum += TermsOf(a, a.drawn[i]);
  sums[threadIdx.x] = sum;
  for (int half = kChunkThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x != 0) return;
  a.now->terms = sums[0];
  a.now->scale = 1.0f / static_cast<float>(sums[0]);
}

// ---- activations ----------------------------------------------------------------------------------------------

template <RowKind kTo>
__global__ void __launch_bounds__(kThreads) ActivateKernel(const Activation a) {
  const size_t row = static_cast<size_t>(blockIdx.x) * kWarps + (threadIdx.x >> 5);
  if (row >= a.rows) return;
  const uint32_t lane = threadIdx.x & 31;
  const size_t base = row * a.stride;
  float mean = 0, factor = 1;
  const bool by_row = a.norm == HiddenNorm::kLayer, by_column = a.norm == HiddenNorm::kBatch;
  if (by_row) {
    const float share = 1.0f / static_cast<float>(a.width);
    float sum = 0;
#pragma unroll 4
    for (uint32_t c = lane * 4; c < a.stride; c += 128) {
      const float4 v = Inside(At4(a.y, base + c), c, a.width);
      sum += (v.x + v.y) + (v.z + v.w);
    }
    mean = WarpSum(sum) * share;
    float squares = 0;
#pragma unroll 4
    for (uint32_t c = lane * 4; c < a.stride; c += 128) {
      float4 v = At4(a.y, base + c);
      v.x -= mean, v.y -= mean, v.z -= mean, v.w -= mean;
      v = Inside(v, c, a.width);
      squares += (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w);
    }
    const float variance = WarpSum(squares) * share + kNormEpsilon;
    factor = 1.0f / sqrtf(variance) + variance * 0.0f;  // NaN where the squares overflow
    if (a.inverse != nullptr && lane == 0) a.inverse[row] = factor;
  }
  const bool drops = a.dropping.keys != nullptr;
  const uint32_t key = drops ? a.dropping.keys[row] : 0;
#pragma unroll 4
  for (uint32_t c = lane * 4; c < a.stride; c += 128) {
    float4 v = At4(a.y, base + c);
    if (by_row) {
      v.x = (v.x - mean) * factor, v.y = (v.y - mean) * factor;
      v.z = (v.z - mean) * factor, v.w = (v.w - mean) * factor;
      v = Inside(v, c, a.width);
      if (a.inverse != nullptr) At4(a.y, base + c) = v;
    } else if (by_column) {
      const float4 middle = At4(a.mean, c), inverse = At4(static_cast<const float*>(a.inverse), c);
      v.x = (v.x - middle.x) * inverse.x, v.y = (v.y - middle.y) * inverse.y;
      v.z = (v.z - middle.z) * inverse.z, v.w = (v.w - middle.w) * inverse.w;
      At4(a.y, base + c) = v;
    }
    if (a.scale != nullptr) {
      const float4 gain = At4(a.scale, c), shift = At4(a.shift, c);
      v.x = v.x * gain.x + shift.x, v.y = v.y * gain.y + shift.y;
      v.z = v.z * gain.z + shift.z, v.w = v.w * gain.w + shift.w;
    } else if (a.shift != nullptr) {
      const float4 bias = At4(a.shift, c);
      v.x += bias.x, v.y += bias.y, v.z += bias.z, v.w += bias.w;
    }
    v = Relu(v);
    if (drops) v = Dropped(v, key, c, a.dropping);
    Store4<kTo>(a.h, base + c, Inside(v, c, a.width));
  }
}

// LayerNorm, with t = scale ∘ d: dy = inverse · (t − mean t − y · mean(t ∘ y)).
template <RowKind kKind>
__global__ void __launch_bounds__(kChunkThreads)
    ActivationBackKernel(const ActivationBack a, uint32_t chunk_rows) {
  const uint32_t lane = threadIdx.x & 31, begin = blockIdx.x * chunk_rows;
  const uint32_t end = min(a.batch, begin + chunk_rows);
  const bool by_row = a.norm == HiddenNorm::kLayer, norm = a.norm != HiddenNorm::kNone;
  for (uint32_t row = begin + (threadIdx.x >> 5); row < end; row += kChunkWarps) {
    const size_t base = static_cast<size_t>(row) * a.stride;
    float sum = 0, along = 0;
#pragma unroll 4
    for (uint32_t c = lane * 4; c < a.stride; c += 128) {
      const float4 h = Load4<kKind>(a.h, base + c);
      float4 d = At4(a.d, base + c);
      d.x = h.x > 0 ? d.x * a.kept : 0, d.y = h.y > 0 ? d.y * a.kept : 0;
      d.z = h.z > 0 ? d.z * a.kept : 0, d.w = h.w > 0 ? d.w * a.kept : 0;
      At4(a.d, base + c) = d;
      if (by_row) {
        const float4 gain = At4(a.scale, c), y = At4(a.y, base + c);
        d.x *= gain.x, d.y *= gain.y, d.z *= gain.z, d.w *= gain.w;
        sum += (d.x + d.y) + (d.z + d.w);
        along += (d.x * y.x + d.y * y.y) + (d.z * y.z + d.w * y.w);
      } else if (!norm && a.dy != nullptr) {
        Store4<kKind>(a.dy, base + c, d);
      }
    }
    if (!by_row) continue;
    const float share = 1.0f / static_cast<float>(a.width);
    const float mean = WarpSum(sum) * share, slope = WarpSum(along) * share, factor = a.inverse[row];
#pragma unroll 4
    for (uint32_t c = lane * 4; c < a.stride; c += 128) {
      const float4 gain = At4(a.scale, c), y = At4(a.y, base + c);
      float4 d = At4(a.d, base + c);
      d.x = (d.x * gain.x - mean - y.x * slope) * factor, d.y = (d.y * gain.y - mean - y.y * slope) * factor;
      d.z = (d.z * gain.z - mean - y.z * slope) * factor, d.w = (d.w * gain.w - mean - y.w * slope) * factor;
      Store4<kKind>(a.dy, base + c, Inside(d, c, a.width));
    }
  }
  if (a.shift_sums.sums == nullptr) return;
  __syncthreads();
  float* const to_shift = a.shift_sums.Of(blockIdx.x);
  for (uint32_t c = threadIdx.x; c < a.stride; c += kChunkThreads) {
    float total = 0, with_y = 0;
#pragma unroll 8
    for (uint32_t row = begin; row < end; ++row) {
      const size_t at = static_cast<size_t>(row) * a.stride + c;
      total += a.d[at];
      if (norm) with_y += a.d[at] * a.y[at];
    }
    to_shift[c] = total;
    if (norm) a.scale_sums.Of(blockIdx.x)[c] = with_y;
  }
}

// ---- batch norm -----------------------------------------------------------------------------------------------

// A block takes a chunk of rows, a thread a column of it.
__global__ void __launch_bounds__(kChunkThreads) MomentsKernel(const BatchMoments a, uint32_t chunk_rows) {
  const uint32_t size = a.now->size, begin = min(size, blockIdx.x * chunk_rows);
  const uint32_t end = min(size, begin + chunk_rows);
  float* const to = a.chunks + static_cast<size_t>(blockIdx.x) * 2 * a.stride;
  for (uint32_t c = threadIdx.x; c < a.stride; c += kChunkThreads) {
    float sum = 0, squares = 0;
#pragma unroll 8
    for (uint32_t row = begin; row < end; ++row) sum += a.y[static_cast<size_t>(row) * a.stride + c];
    const float mean = end > begin ? sum / static_cast<float>(end - begin) : 0.0f;
#pragma unroll 8
    for (uint32_t row = begin; row < end; ++row) {
      const float off = a.y[static_cast<size_t>(row) * a.stride + c] - mean;
      squares += off * off;
    }
    to[c] = mean;
    to[a.stride + c] = squares;
  }
}

// Means and squared distances of the chunks, in order, to those of the batch (Chan et al., 1979); a thread takes a column.
__global__ void __launch_bounds__(kThreads) CombineMomentsKernel(const BatchMoments a, uint32_t chunk_rows) {
  const uint32_t c = blockIdx.x * kThreads + threadIdx.x, size = a.now->size;
  if (c >= a.stride) return;
  double mean = 0, squares = 0;
  const float* chunk = a.chunks + c;
  for (uint32_t begin = 0; begin < size; begin += chunk_rows, chunk += 2 * static_cast<size_t>(a.stride)) {
    const double before = begin, rows = min(chunk_rows, size - begin), share = rows / (before + rows);
    const double apart = static_cast<double>(chunk[0]) - mean;
    mean += apart * share;
    squares += static_cast<double>(chunk[a.stride]) + apart * apart * before * share;
  }
  const double rows = size, variance = squares / rows + static_cast<double>(kNormEpsilon);
  const float middle = static_cast<float>(mean), unbiased = static_cast<float>(squares / fmax(1.0, rows - 1));
  a.mean[c] = middle;
  a.inverse[c] = static_cast<float>(1.0 / sqrt(variance) + variance * 0.0);  // NaN where the squares overflow
  a.running_mean[c] += kRunningShare * (middle - a.running_mean[c]);
  a.running_var[c] += kRunningShare * (unbiased - a.running_var[c]);
}

__global__ void __launch_bounds__(kThreads) SlopesKernel(const BatchNormBack a, uint32_t chunks) {
  const uint32_t c = blockIdx.x * kThreads + threadIdx.x;
  if (c >= a.stride) return;
  float total = 0, with_y = 0;
#pragma unroll 8
  for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
    total += a.shift_sums.Of(chunk)[c];
    with_y += a.scale_sums.Of(chunk)[c];
  }
  const float rows = static_cast<float>(a.now->size);
  a.slopes[c] = total / rows;
  a.slopes[a.stride + c] = with_y / rows;
}

template <RowKind kKind>
__global__ void __launch_bounds__(kThreads) BatchNormBackKernel(const BatchNormBack a) {
  const uint32_t row = blockIdx.x * kWarps + (threadIdx.x >> 5);
  if (row >= a.batch) return;
  const bool inside = row < a.now->size;
  const size_t base = static_cast<size_t>(row) * a.stride;
  for (uint32_t c = (threadIdx.x & 31) * 4; c < a.stride; c += 128) {
    float4 out = make_float4(0, 0, 0, 0);
    if (inside) {
      const float4 d = At4(a.d, base + c), y = At4(a.y, base + c);
      const float4 scale = At4(a.scale, c), inverse = At4(a.inverse, c);
      const float4 mean = At4(static_cast<const float*>(a.slopes), c),
                   slope = At4(static_cast<const float*>(a.slopes), a.stride + c);
      out.x = scale.x * inverse.x * (d.x - mean.x - y.x * slope.x);
      out.y = scale.y * inverse.y * (d.y - mean.y - y.y * slope.y);
      out.z = scale.z * inverse.z * (d.z - mean.z - y.z * slope.z);
      out.w = scale.w * inverse.w * (d.w - mean.w - y.w * slope.w);
    }
    Store4<kKind>(a.dy, base + c, out);
  }
}

__global__ void __launch_bounds__(kThreads) RunningFoldKernel(const RunningFold a) {
  const uint32_t c = blockIdx.x * kThreads + threadIdx.x;
  if (c >= a.stride) return;
  const float scale = a.weight[c] / sqrtf(a.var[c] + kNormEpsilon);
  a.scale[c] = scale;
  a.shift[c] = a.bias[c] - a.mean[c] * scale;
}

// ---- the loss -------------------------------------------------------------------------------------------------

// Each returns the loss of one row, the same in all lanes, and replaces its logits by their gradient.
__device__ __forceinline__ float SoftmaxRow(const LossArguments& a, float* z, int32_t target, float scale) {
  const uint32_t lane = threadIdx.x & 31;
  float top = -INFINITY;
  for (uint32_t c = lane; c < a.classes; c += 32) {
    const float value = z[c] + (a.bias != nullptr ? a.bias[c] : 0.0f);
    z[c] = value;
    top = fmaxf(top, value);
  }
  top = WarpMax(top);
  float sum = 0, at_target = 0;
  for (uint32_t c = lane; c < a.classes; c += 32) {
    const float off = z[c] - top, e = expf(off);
    if (static_cast<int32_t>(c) == target) at_target = off;
    z[c] = e;
    sum += e;
  }
  sum = WarpSum(sum);
  at_target = WarpSum(at_target);
  const float weight = a.weights != nullptr ? a.weights[target] : 1.0f, share = scale * weight;
  const float inverse = share / sum;
  for (uint32_t c = lane; c < a.classes; c += 32)
    z[c] = z[c] * inverse - (static_cast<int32_t>(c) == target ? share : 0.0f);
  return weight * (logf(sum) - at_target);
}

__device__ __forceinline__ float SigmoidRow(const LossArguments& a, float* z, const uint8_t* on,
                                            float scale) {
  float sum = 0;
  for (uint32_t c = threadIdx.x & 31; c < a.classes; c += 32) {
    const float value = z[c] + (a.bias != nullptr ? a.bias[c] : 0.0f), y = on[c], e = expf(-fabsf(value));
    const float sigmoid = (value >= 0 ? 1.0f : e) / (1.0f + e);
    const float weight = a.weights != nullptr ? 1.0f + (a.weights[c] - 1.0f) * y : 1.0f;
    z[c] = scale * (sigmoid - y) * weight;
    sum += (log1pf(e) + fmaxf(value, 0.0f) - value * y) * weight;
  }
  return WarpSum(sum);
}

__device__ __forceinline__ float RegressionRow(const LossArguments& a, float* z, uint32_t sample,
                                               float scale) {
  const float* truth = a.regression.values + static_cast<size_t>(sample) * a.classes;
  const float weight = a.regression.weights != nullptr ? a.regression.weights[sample] : 1.0f;
  float sum = 0;
  for (uint32_t c = threadIdx.x & 31; c < a.classes; c += 32) {
    const float y = truth[c];
    if (isnan(y)) {
      z[c] = 0;
      continue;
    }
    const float d = z[c] + (a.bias != nullptr ? a.bias[c] : 0.0f) - y;
    z[c] = scale * weight * DifferenceSlope(a.regression.loss, d);
    sum += weight * DifferenceLoss(a.regression.loss, d);
  }
  return WarpSum(sum);
}

__global__ void __launch_bounds__(kChunkThreads) LossKernel(const LossArguments a, uint32_t chunk_rows) {
  __shared__ double warp_losses[kChunkWarps];
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const uint32_t begin = blockIdx.x * chunk_rows, end = min(a.batch, begin + chunk_rows), size = a.now->size;
  const float scale = a.now->scale;
  double loss = 0;
  for (uint32_t row = begin + warp; row < end; row += kChunkWarps) {
    float* z = a.z + static_cast<size_t>(row) * a.stride;
    if (row >= size) {
      for (uint32_t c = lane; c < a.stride; c += 32) z[c] = 0;
    } else {
      const uint32_t sample = a.drawn[row];
      loss += a.regression.values != nullptr ? RegressionRow(a, z, sample, scale)
              : a.multilabel
                  ? SigmoidRow(a, z, a.label_rows + static_cast<size_t>(sample) * a.label_bytes, scale)
                  : SoftmaxRow(a, z, a.classes_of[sample], scale);
      for (uint32_t c = a.classes + lane; c < a.stride; c += 32) z[c] = 0;
    }
    if (a.narrow != nullptr) {
      __syncwarp();
      for (uint32_t c = lane * 4; c < a.stride; c += 128)
        Store4<RowKind::kBf16>(a.narrow, static_cast<size_t>(row) * a.stride + c, At4(z, c));
    }
  }
  if (lane == 0) warp_losses[warp] = loss;
  __syncthreads();
  if (threadIdx.x == 0) {
    double sum = 0;
    for (int w = 0; w < kChunkWarps; ++w) sum += warp_losses[w];
    a.losses[blockIdx.x] = sum;
  }
  if (a.sums.sums == nullptr) return;
  for (uint32_t c = threadIdx.x; c < a.stride; c += kChunkThreads) {
    float total = 0;
#pragma unroll 8
    for (uint32_t row = begin; row < end; ++row) total += a.z[static_cast<size_t>(row) * a.stride + c];
    a.sums.sums[blockIdx.x * a.sums.stride + a.sums.at + c] = total;
  }
}

// ---- the update -----------------------------------------------------------------------------------------------

__device__ __forceinline__ void AdamStep(const AdamUpdate& a, float g, float& w, float& m, float& v,
                                         float step_size, float inverse_bias) {
  m = a.beta1 * m + (1.0f - a.beta1) * g;
  v = a.beta2 * v + (1.0f - a.beta2) * g * g;
  w -= step_size * m / (sqrtf(v) * inverse_bias + a.epsilon);
}

__global__ void __launch_bounds__(kThreads) UpdateKernel(const AdamUpdate a) {
  const StepNow now = *a.now;
  if (blockIdx.x == 0 && threadIdx.x < 32) {
    double sum = 0;
    for (uint32_t chunk = threadIdx.x; chunk < a.chunks; chunk += 32) sum += a.chunk_losses[chunk];
    sum = WarpSum(sum);
    if (threadIdx.x == 0) {
      StepCursor at = *a.cursor;
      a.losses[at.slot] = sum / now.terms;
      if (++at.step == a.steps_per_epoch) at.step = 0, ++at.epoch;
      ++at.done, ++at.w_steps, ++at.other_steps, ++at.slot;
      *a.cursor = at;
    }
  }
  // What takes longest, the sums over chunks, begins first.
  const size_t turn = blockIdx.x * static_cast<size_t>(kThreads) * 4 + threadIdx.x * 4,
               small = a.end - a.decay_end;
  if (turn >= a.end) return;
  const bool decays = turn >= small;
  const size_t i = decays ? turn - small : a.decay_end + turn;
  float4 g = make_float4(0, 0, 0, 0);
  if (decays) {
    g = At4(a.gradient, i);
  } else {
#pragma unroll 8
    for (uint32_t chunk = 0; chunk < a.chunks; ++chunk) {
      const float4 part = At4(a.sums, chunk * small + turn);
      g.x += part.x, g.y += part.y, g.z += part.z, g.w += part.w;
    }
  }
  const bool is_w = i < a.w_end;
  const float step_size = is_w ? now.w_step_size : now.other_step_size;
  const float inverse_bias = is_w ? now.w_inverse_bias : now.other_inverse_bias,
              kept = decays ? 1.0f - now.rate * a.decoupled_decay : 1.0f;
  float4 w = At4(a.value, i), m = At4(a.m, i), v = At4(a.v, i);
  const float penalty = decays ? a.weight_decay : 0.0f;
  g.x += penalty * w.x, g.y += penalty * w.y, g.z += penalty * w.z, g.w += penalty * w.w;
  w.x *= kept, w.y *= kept, w.z *= kept, w.w *= kept;
  AdamStep(a, g.x, w.x, m.x, v.x, step_size, inverse_bias);
  AdamStep(a, g.y, w.y, m.y, v.y, step_size, inverse_bias);
  AdamStep(a, g.z, w.z, m.z, v.z, step_size, inverse_bias);
  AdamStep(a, g.w, w.w, m.w, v.w, step_size, inverse_bias);
  At4(a.value, i) = w, At4(a.m, i) = m, At4(a.v, i) = v;
  if (decays && a.narrow != nullptr) Store4<RowKind::kBf16>(a.narrow, i, w);
}

__global__ void __launch_bounds__(kThreads) NarrowKernel(const float* from, void* to, size_t count) {
  const size_t i = (static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x) * 4;
  if (i < count) Store4<RowKind::kBf16>(to, i, At4(from, i));
}

// ---- rows by number -------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(kThreads)
    PickDenseKernel(const DeviceRows from, const uint32_t* rows, size_t count, const DeviceRows to,
                    size_t row_vectors) {
  const size_t i = static_cast<size_t>(blockIdx.x) * kWarps + (threadIdx.x >> 5);
  if (i >= count) return;
  const uint4* source = static_cast<const uint4*>(from.dense) + rows[i] * row_vectors;
  uint4* target = static_cast<uint4*>(to.dense) + i * row_vectors;
  for (size_t c = threadIdx.x & 31; c < row_vectors; c += 32) target[c] = source[c];
}

__global__ void __launch_bounds__(kThreads)
    PickSparseKernel(const DeviceRows from, const uint32_t* rows, size_t count, const uint64_t* to_indptr,
                     uint32_t* to_columns, float* to_values) {
  const size_t i = static_cast<size_t>(blockIdx.x) * kWarps + (threadIdx.x >> 5);
  if (i >= count) return;
  const uint64_t source = from.indptr[rows[i]], entries = from.indptr[rows[i] + size_t{1}] - source;
  for (uint64_t e = threadIdx.x & 31; e < entries; e += 32) {
    to_columns[to_indptr[i] + e] = from.columns[source + e];
    to_values[to_indptr[i] + e] = from.values[source + e];
  }
}

unsigned BlocksFor(size_t items, size_t per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

}  // namespace

void LaunchGather(const BlockRows& x, const uint32_t* rows, size_t first, size_t count, RowKind kind,
                  void* to, size_t stride, const Dropping& dropping, cudaStream_t stream) {
  if (count == 0) return;
  const auto kernel = kind == RowKind::kBf16 ? GatherKernel<RowKind::kBf16> : GatherKernel<RowKind::kF32>;
  const dim3 grid(BlocksFor(count, kWarps), static_cast<unsigned>(x.parts));
  kernel<<<grid, kThreads, 0, stream>>>(x, rows, first, count, to, stride, dropping);
  Check(cudaGetLastError(), "launching the gathering of rows");
}

void LaunchDraw(const BatchDraw& draw, cudaStream_t stream) {
  DrawKernel<<<BlocksFor(draw.batch, kThreads), kThreads, 0, stream>>>(draw);
  if (draw.weights != nullptr || draw.regression.values != nullptr)
    TermsKernel<<<1, kChunkThreads, 0, stream>>>(draw);
  Check(cudaGetLastError(), "launching the drawing of a batch");
}

void LaunchActivate(const Activation& a, cudaStream_t stream) {
  if (a.rows == 0) return;
  const auto kernel = a.kind == RowKind::kF16    ? ActivateKernel<RowKind::kF16>
                      : a.kind == RowKind::kBf16 ? ActivateKernel<RowKind::kBf16>
                                                 : ActivateKernel<RowKind::kF32>;
  kernel<<<BlocksFor(a.rows, kWarps), kThreads, 0, stream>>>(a);
  Check(cudaGetLastError(), "launching an activation");
}

void LaunchLoss(const LossArguments& a, cudaStream_t stream) {
  LossKernel<<<ChunksOf(a.batch), kChunkThreads, 0, stream>>>(a, RowsPerChunk(a.batch));
  Check(cudaGetLastError(), "launching the loss");
}

void LaunchActivationBack(const ActivationBack& a, cudaStream_t stream) {
  const auto kernel =
      a.kind == RowKind::kBf16 ? ActivationBackKernel<RowKind::kBf16> : ActivationBackKernel<RowKind::kF32>;
  kernel<<<ChunksOf(a.batch), kChunkThreads, 0, stream>>>(a, RowsPerChunk(a.batch));
  Check(cudaGetLastError(), "launching a gradient");
}

void LaunchBatchMoments(const BatchMoments& a, cudaStream_t stream) {
  const uint32_t chunk_rows = RowsPerChunk(a.batch);
  MomentsKernel<<<ChunksOf(a.batch), kChunkThreads, 0, stream>>>(a, chunk_rows);
  CombineMomentsKernel<<<BlocksFor(a.stride, kThreads), kThreads, 0, stream>>>(a, chunk_rows);
  Check(cudaGetLastError(), "launching a batch's statistics");
}

void LaunchBatchNormBack(const BatchNormBack& a, cudaStream_t stream) {
  SlopesKernel<<<BlocksFor(a.stride, kThreads), kThreads, 0, stream>>>(a, ChunksOf(a.batch));
  const auto kernel =
      a.kind == RowKind::kBf16 ? BatchNormBackKernel<RowKind::kBf16> : BatchNormBackKernel<RowKind::kF32>;
  kernel<<<BlocksFor(a.batch, kWarps), kThreads, 0, stream>>>(a);
  Check(cudaGetLastError(), "launching a gradient");
}

void LaunchRunningFold(const RunningFold& a, cudaStream_t stream) {
  RunningFoldKernel<<<BlocksFor(a.stride, kThreads), kThreads, 0, stream>>>(a);
  Check(cudaGetLastError(), "launching a norm's running statistics");
}

void LaunchUpdate(const AdamUpdate& a, cudaStream_t stream) {
  UpdateKernel<<<BlocksFor(a.end, kThreads * size_t{4}), kThreads, 0, stream>>>(a);
  Check(cudaGetLastError(), "launching the update");
}

void LaunchNarrow(const float* from, void* to, size_t count, cudaStream_t stream) {
  if (count == 0) return;
  NarrowKernel<<<BlocksFor(count, kThreads * size_t{4}), kThreads, 0, stream>>>(from, to, count);
  Check(cudaGetLastError(), "launching a conversion");
}

void LaunchPickRows(const DeviceRows& from, const uint32_t* rows, size_t count, const DeviceRows& to,
                    uint32_t* to_columns, float* to_values, cudaStream_t stream) {
  if (count == 0) return;
  if (from.kind == RowKind::kSparse) {
    PickSparseKernel<<<BlocksFor(count, kWarps), kThreads, 0, stream>>>(from, rows, count, to.indptr,
                                                                        to_columns, to_values);
  } else {
    PickDenseKernel<<<BlocksFor(count, kWarps), kThreads, 0, stream>>>(
        from, rows, count, to, from.stride * ElementBytes(from.kind) / 16);
  }
  Check(cudaGetLastError(), "launching the picking of rows");
}

}  // namespace l2gcn::cuda
