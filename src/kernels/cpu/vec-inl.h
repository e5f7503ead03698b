// Vectors of L2GCN_LANES floats and the few functions on them, in GCC's vector notation: the same source is
// SSE2, AVX2 or AVX-512 depending on the flags of the including file.
//
// Rules for every *-inl.h here: no standard-library templates and no inline function with external linkage,
// because the copy compiled for AVX-512 must never be the one that a baseline caller links to. Everything is
// in an anonymous namespace for the same reason.
#pragma once

#include <immintrin.h>
#include <math.h>

#include "kernels/cpu/kernels.h"

namespace l2gcn {
namespace {

constexpr size_t kLanes = L2GCN_LANES;
typedef float Vec __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));
typedef int32_t IntVec __attribute__((vector_size(kLanes * sizeof(int32_t)), aligned(4), may_alias));
typedef uint32_t BitVec __attribute__((vector_size(kLanes * sizeof(uint32_t)), aligned(4), may_alias));
typedef uint16_t HalfVec __attribute__((vector_size(kLanes * sizeof(uint16_t)), aligned(2), may_alias));

inline Vec Load(const float* p) { return *reinterpret_cast<const Vec*>(p); }
inline void Store(float* p, Vec v) { *reinterpret_cast<Vec*>(p) = v; }
inline Vec Splat(float x) { return x - Vec{}; }
// NaN stays NaN, so that an overflow shows in what is computed from it.
inline Vec PositivePart(Vec v) { return v <= 0.0f ? Vec{} : v; }
inline Vec Max(Vec a, Vec b) { return a > b ? a : b; }
inline Vec Absolute(Vec v) { return (Vec)((BitVec)v & 0x7FFFFFFFu); }

inline IntVec LaneNumbers() {
  IntVec lanes;
  for (size_t i = 0; i < kLanes; ++i) lanes[i] = static_cast<int32_t>(i);
  return lanes;
}
// v in the first `count` lanes, `other` in the rest.
inline Vec FirstLanes(Vec v, size_t count, Vec other) {
  return LaneNumbers() < static_cast<int32_t>(count) ? v : other;
}

inline Vec Rotated(Vec v, size_t by) {
  return __builtin_shuffle(v, (LaneNumbers() + static_cast<int32_t>(by)) & static_cast<int32_t>(kLanes - 1));
}
inline float Sum(Vec v) {
  for (size_t half = kLanes / 2; half > 0; half /= 2) v += Rotated(v, half);
  return v[0];
}
inline float Largest(Vec v) {
  for (size_t half = kLanes / 2; half > 0; half /= 2) v = Max(v, Rotated(v, half));
  return v[0];
}

// e^x for x ≤ 88, within 2 ulp; 0 below −87.3. Cody–Waite reduction by ln 2, then Cephes' polynomial.
inline Vec Exp(Vec x) {
  const Vec magic = Splat(12582912.0f);  // 1.5 · 2²³: adding it rounds to an integer
  const Vec shifted = x * 1.44269504088896341f + magic;
  const Vec n = shifted - magic;
  const Vec r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Vec p = Splat(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const Vec scaled = (Vec)((IntVec)p + (((IntVec)shifted - (IntVec)magic) << 23));
  return x < -87.3f ? Vec{} : scaled;
}

// log(1 + e) for 0 ≤ e ≤ 1, within 2 ulp: 2 artanh(e / (2 + e)), whose argument is at most 1/3.
inline Vec Log1p(Vec e) {
  const Vec s = e / (e + 2.0f), q = s * s;
  Vec p = Splat(1.0f / 15);
  p = p * q + 1.0f / 13;
  p = p * q + 1.0f / 11;
  p = p * q + 1.0f / 9;
  p = p * q + 1.0f / 7;
  p = p * q + 1.0f / 5;
  p = p * q + 1.0f / 3;
  p = p * q + 1.0f;
  return 2.0f * s * p;
}

// ---- storage types: how a vector of features is read and written ------------------------------------------

template <FeatureType kType>
struct Storage;

template <>
struct Storage<FeatureType::kF32> {
  typedef float Element;
  static Vec Read(const float* p) { return Load(p); }
  static void Write(float* p, Vec v) { Store(p, v); }
  static float ReadOne(const float* p) { return *p; }
  static void WriteOne(float* p, float v) { *p = v; }
};

inline BitVec Widen(const uint16_t* p) {
  return __builtin_convertvector(*reinterpret_cast<const HalfVec*>(p), BitVec);
}
inline void StoreHalves(uint16_t* p, BitVec bits) {
  *reinterpret_cast<HalfVec*>(p) = __builtin_convertvector(bits, HalfVec);
}
inline BitVec BitsOf(float v) { return (BitVec)Splat(v); }

template <>
struct Storage<FeatureType::kBf16> {
  typedef uint16_t Element;
  static Vec Read(const uint16_t* p) { return (Vec)(Widen(p) << 16); }
  static void Write(uint16_t* p, Vec v) { StoreHalves(p, Round(v)); }
  static float ReadOne(const uint16_t* p) { return ((Vec)(BitVec{*p} << 16))[0]; }
  static void WriteOne(uint16_t* p, float v) { *p = static_cast<uint16_t>(Round(Splat(v))[0]); }
  static BitVec Round(Vec v) {
    const BitVec bits = (BitVec)v;
    return (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  }
};

// Finite values only: who narrows checks that they fit (65504 is the largest).
template <>
struct Storage<FeatureType::kF16> {
  typedef uint16_t Element;
  static Vec Read(const uint16_t* p) { return FromBits(Widen(p)); }
  static void Write(uint16_t* p, Vec v) { StoreHalves(p, Round(v)); }
  static float ReadOne(const uint16_t* p) { return FromBits(BitVec{*p})[0]; }
  static void WriteOne(uint16_t* p, float v) { *p = static_cast<uint16_t>(Round(Splat(v))[0]); }
  // Exponent and mantissa moved into an f32 whose exponent is 112 too small; one multiplication repairs
  // normal and subnormal numbers alike.
  static Vec FromBits(BitVec bits) {
    const Vec magnitude = (Vec)((bits & 0x7FFFu) << 13) * 0x1p112f;
    return (Vec)((BitVec)magnitude | ((bits & 0x8000u) << 16));
  }
  // Round to nearest even: subnormal halves by an addition that leaves their unit in the last place of an
  // f32, the others on the bits.
  static BitVec Round(Vec v) {
    const BitVec sign = (BitVec)v & 0x80000000u, bits = (BitVec)v ^ sign;
    const BitVec small = (BitVec)((Vec)bits + 0.5f) - BitsOf(0.5f);
    const BitVec normal = (bits - (112u << 23) + 0xFFFu + ((bits >> 13) & 1u)) >> 13;
    return ((Vec)bits < 0x1p-14f ? small : normal) | (sign >> 16);
  }
};

}  // namespace
}  // namespace l2gcn
