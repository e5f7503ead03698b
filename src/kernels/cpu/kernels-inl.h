// The CPU kernel table, compiled once per instruction set with L2GCN_LANES floats a vector: the small bodies
// here, the larger ones in their own *-inl.h. vec-inl.h holds the rules for all of them.
#pragma once

#include "core/sample_order.h"
#include "kernels/cpu/aggregate-inl.h"
#include "kernels/cpu/dropout-inl.h"
#include "kernels/cpu/gemm-inl.h"
#include "kernels/cpu/loss-inl.h"
#include "kernels/cpu/norm-inl.h"
#include "kernels/cpu/sparse-inl.h"
#include "kernels/cpu/vec-inl.h"

namespace l2gcn {
namespace {

// m / (√v · c + ε), within an ulp of the correctly rounded operations. On AVX-512 by estimates and one Newton
// step plus a remainder correction each: its divider would take four times as long. The floor under v keeps
// the estimate finite; at it √v is 1e-19, far below any ε.
inline Vec AdamRatio(Vec m, Vec v, Vec c, Vec epsilon) {
#ifdef __AVX512F__
  const Vec floored = Max(v, Splat(1e-37f));
  const Vec y = (Vec)_mm512_rsqrt14_ps((__m512)floored);
  const Vec estimate = floored * y, half = 0.5f * y;
  const Vec error = 0.5f - estimate * half;
  const Vec refined = estimate * error + estimate, half_refined = half * error + half;
  const Vec root = (floored - refined * refined) * half_refined + refined;
  const Vec denominator = root * c + epsilon;
  const Vec r = (Vec)_mm512_rcp14_ps((__m512)denominator);
  const Vec reciprocal = r * (1.0f - denominator * r) + r;
  const Vec quotient = m * reciprocal;
  return (m - quotient * denominator) * reciprocal + quotient;
#else
  Vec root;
  for (size_t i = 0; i < kLanes; ++i) root[i] = __builtin_sqrtf(v[i]);
  return m / (root * c + epsilon);
#endif
}

void Adam(size_t count, const float* grad, float* w, float* m, float* v, const AdamConstants& k) {
  const Vec beta1 = Splat(k.beta1), beta2 = Splat(k.beta2), rest1 = Splat(1 - k.beta1),
            rest2 = Splat(1 - k.beta2);
  const Vec scale = Splat(k.inverse_sqrt_bc2), epsilon = Splat(k.epsilon), step = Splat(k.step_size),
            decay = Splat(k.weight_decay);
  for (size_t i = 0; i < count; i += kLanes) {
    const Vec weights = Load(w + i), g = Load(grad + i) + decay * weights;
    const Vec first = beta1 * Load(m + i) + rest1 * g;
    const Vec second = beta2 * Load(v + i) + rest2 * g * g;
    Store(m + i, first);
    Store(v + i, second);
    Store(w + i, weights - step * AdamRatio(first, second, scale, epsilon));
  }
}

// Moves the values at or past `size`, and their places, to the front of both; returns how many there are.
inline uint32_t KeepWalkers(uint32_t size, uint32_t count, uint32_t* value, uint32_t* place) {
  uint32_t kept = 0, i = 0;
#ifdef __AVX512F__
  const __m512i limit = _mm512_set1_epi32(static_cast<int>(size));
  for (; i + 16 <= count; i += 16) {
    const __m512i values = _mm512_loadu_si512(value + i), places = _mm512_loadu_si512(place + i);
    const __mmask16 walks_on = _mm512_cmpge_epu32_mask(values, limit);
    _mm512_mask_compressstoreu_epi32(value + kept, walks_on, values);
    _mm512_mask_compressstoreu_epi32(place + kept, walks_on, places);
    kept += static_cast<uint32_t>(__builtin_popcount(walks_on));
  }
#endif
  for (; i < count; ++i) {
    const bool walks_on = value[i] >= size;
    value[kept] = value[i];
    place[kept] = place[i];
    kept += walks_on ? 1 : 0;
  }
  return kept;
}

constexpr uint32_t kDrawnAtOnce = 512;

// Replaces each of `count` ≤ kDrawnAtOnce values by where the permutation points from there. Most values are settled
// by one vectorised pass; those that left the range walk on, all together.
void PermuteValues(const Permutation& permutation, uint32_t count, uint32_t* values) {
  uint32_t walking[kDrawnAtOnce], place[kDrawnAtOnce];
  const Permutation local = permutation;
  for (uint32_t i = 0; i < count; ++i) walking[i] = values[i];
  for (uint32_t i = 0; i < count; ++i) place[i] = i;
  while (count > 0) {
    for (uint32_t i = 0; i < count; ++i) walking[i] = local.Once(walking[i]);
    for (uint32_t i = 0; i < count; ++i) values[place[i]] = walking[i];
    count = KeepWalkers(local.size, count, walking, place);
  }
}

// The samples at `count` ≤ kDrawnAtOnce positions of one window, of which `first` is the first one's place there.
void PermuteInWindow(const EpochOrder& order, uint32_t number, uint32_t first, uint32_t count,
                     uint32_t* out) {
  for (uint32_t i = 0; i < count; ++i) out[i] = first + i;
  PermuteValues(order.Within(number), count, out);
  const uint32_t begin = number * order.window, size = order.block;
  uint32_t block[kDrawnAtOnce], left[kDrawnAtOnce];
  for (uint32_t i = 0; i < count; ++i) {
    block[i] = static_cast<uint32_t>(static_cast<double>(begin + out[i]) / size);  // exact, and vectorised
    left[i] = begin + out[i] - block[i] * size;
  }
  const uint32_t whole = order.blocks.size;
  uint32_t last[kDrawnAtOnce];
  for (uint32_t i = 0; i < count; ++i) last[i] = block[i];
  for (uint32_t i = 0; i < count; ++i) block[i] = block[i] < whole ? block[i] : 0;
  PermuteValues(order.blocks, count, block);
  for (uint32_t i = 0; i < count; ++i) out[i] = (last[i] < whole ? block[i] : last[i]) * size + left[i];
}

void Permute(const EpochOrder& order, uint32_t begin, uint32_t count, uint32_t* out) {
  while (count > 0) {
    uint32_t now = count < kDrawnAtOnce ? count : kDrawnAtOnce;
    if (order.block == 0) {
      for (uint32_t i = 0; i < now; ++i) out[i] = begin + i;
      PermuteValues(order, now, out);
    } else {
      const uint32_t number = begin / order.window, first = begin - number * order.window;
      if (now > order.window - first) now = order.window - first;
      PermuteInWindow(order, number, first, now, out);
    }
    begin += now, out += now, count -= now;
  }
}

template <FeatureType kType>
void GatherRows(size_t m, size_t cols, const void* src, const uint32_t* rows, float* dst, size_t ldd) {
  typedef Storage<kType> S;
  const auto* base = static_cast<const typename S::Element*>(src);
  const size_t width = PadWidth(cols);
  for (size_t i = 0; i < m; ++i) {
    const typename S::Element* from = base + (rows != nullptr ? rows[i] : i) * cols;
    float* to = dst + i * ldd;
    size_t c = 0;
    for (; c + kLanes <= cols; c += kLanes) Store(to + c, S::Read(from + c));
    for (; c < cols; ++c) to[c] = S::ReadOne(from + c);
    for (; c < width; ++c) to[c] = 0;
  }
}

void Gather(size_t m, size_t cols, const void* src, FeatureType type, const uint32_t* rows, float* dst,
            size_t ldd) {
  if (type == FeatureType::kF32) GatherRows<FeatureType::kF32>(m, cols, src, rows, dst, ldd);
  if (type == FeatureType::kF16) GatherRows<FeatureType::kF16>(m, cols, src, rows, dst, ldd);
  if (type == FeatureType::kBf16) GatherRows<FeatureType::kBf16>(m, cols, src, rows, dst, ldd);
}

template <FeatureType kType>
void NarrowTo(size_t count, const float* src, void* dst) {
  typedef Storage<kType> S;
  auto* out = static_cast<typename S::Element*>(dst);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) S::Write(out + i, Load(src + i));
  for (; i < count; ++i) S::WriteOne(out + i, src[i]);
}

void Narrow(size_t count, const float* src, FeatureType type, void* dst) {
  if (type == FeatureType::kF32) NarrowTo<FeatureType::kF32>(count, src, dst);
  if (type == FeatureType::kF16) NarrowTo<FeatureType::kF16>(count, src, dst);
  if (type == FeatureType::kBf16) NarrowTo<FeatureType::kBf16>(count, src, dst);
}

void ReluGrad(size_t count, const float* h, float scale, float* d) {
  for (size_t i = 0; i < count; ++i) d[i] = h[i] > 0 ? d[i] * scale : 0;
}

constexpr CpuKernels MakeTable(const char* name) {
  return {name,
          Aggregate,
          Gemm,
          GemmTransposed,
          AddGroups,
          SparseGemm,
          SparseGemmGrad,
          SoftmaxLoss,
          SigmoidLoss,
          RegressionLoss,
          ReluGrad,
          Drop,
          BiasRelu,
          NormRelu,
          NormGradient,
          ScaleRelu,
          ColumnMoments,
          BatchNormRelu,
          BatchNormGradient,
          ColumnSums,
          Adam,
          Permute,
          Gather,
          Narrow,
          Dropout};
}

}  // namespace
}  // namespace l2gcn
