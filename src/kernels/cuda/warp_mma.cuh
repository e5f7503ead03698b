// Products of small float tiles held in shared memory, one warp at a time, on the tensor cores.
//
//   Precision::kTf32   operands are read as tf32 (10-bit mantissa), sums are fp32. Whoever writes a tile
//   rounds
//                      to nearest with ForOperand; feature rows are copied raw, so the unit truncates those.
//   Precision::kFp32   each operand is split into two tf32 parts and three products are summed (hi·hi + hi·lo
//   +
//                      lo·hi): the error of a product is about 2⁻²¹, that of fp32 arithmetic.
//   Precision::kBf16   operands are rounded to bf16, sums are fp32.
//
// A Tile is swizzled so that a warp reads it along rows and along columns without bank conflicts: within
// every segment of 32 floats, column c of row r lies at c xor Swizzle(r). Groups of four floats stay
// together, so 16-byte copies into a tile are possible.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "l2gcn/choices.h"

namespace l2gcn::cuda {

__device__ __forceinline__ int Swizzle(int row) { return ((row & 3) << 3) | (row & 4); }

struct Tile {
  float* data;
  int stride;  // floats, a multiple of 32

  __device__ __forceinline__ float* At(int row, int col) const {
    return data + row * stride + (col ^ Swizzle(row));
  }
};

// Rounds a value once, when it is written, to what the products will read.
template <Precision P>
__device__ __forceinline__ float ForOperand(float x) {
  if constexpr (P == Precision::kTf32) {
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return __uint_as_float(bits);
  } else {
    return x;
  }
}

__device__ __forceinline__ void MmaTf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void MmaBf16(float (&d)[4], const uint32_t (&a)[2], uint32_t b) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(b));
}
__device__ __forceinline__ uint32_t PackBf16(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// Operand fragments of one 16×8 (A) or 8×8 (B) block. Lane = 4·g + t holds A(g, t), A(g+8, t), A(g, t+4),
// A(g+8, t+4) and B(t, g), B(t+4, g); the order of the eight k is free as long as A and B share it.
template <Precision P>
struct FragmentA;
template <Precision P>
struct FragmentB;

template <>
struct FragmentA<Precision::kTf32> {
  uint32_t part[4];
  __device__ __forceinline__ void Set(const float (&x)[4]) {
    for (int i = 0; i < 4; ++i) part[i] = __float_as_uint(x[i]);
  }
};
template <>
struct FragmentB<Precision::kTf32> {
  uint32_t part[2];
  __device__ __forceinline__ void Set(const float (&x)[2]) {
    for (int i = 0; i < 2; ++i) part[i] = __float_as_uint(x[i]);
  }
};
template <>
struct FragmentA<Precision::kFp32> {
  uint32_t high[4], low[4];
  __device__ __forceinline__ void Set(const float (&x)[4]) {
    for (int i = 0; i < 4; ++i) {
      high[i] = __float_as_uint(x[i]) & 0xFFFFE000u;
      low[i] = __float_as_uint(x[i] - __uint_as_float(high[i]));
    }
  }
};
template <>
struct FragmentB<Precision::kFp32> {
  uint32_t high[2], low[2];
  __device__ __forceinline__ void Set(const float (&x)[2]) {
    for (int i = 0; i < 2; ++i) {
      high[i] = __float_as_uint(x[i]) & 0xFFFFE000u;
      low[i] = __float_as_uint(x[i] - __uint_as_float(high[i]));
    }
  }
};
template <>
struct FragmentA<Precision::kBf16> {
  uint32_t part[2];
  __device__ __forceinline__ void Set(const float (&x)[4]) {
    part[0] = PackBf16(x[0], x[2]);
    part[1] = PackBf16(x[1], x[3]);
  }
};
template <>
struct FragmentB<Precision::kBf16> {
  uint32_t part;
  __device__ __forceinline__ void Set(const float (&x)[2]) { part = PackBf16(x[0], x[1]); }
};

template <Precision P>
__device__ __forceinline__ void Multiply(float (&d)[4], const FragmentA<P>& a, const FragmentB<P>& b) {
  if constexpr (P == Precision::kTf32) {
    MmaTf32(d, a.part, b.part);
  } else if constexpr (P == Precision::kBf16) {
    MmaBf16(d, a.part, b.part);
  } else {
    MmaTf32(d, a.low, b.high);
    MmaTf32(d, a.high, b.low);
    MmaTf32(d, a.high, b.high);
  }
}

// Sums of a warp tile of 16·MT × 8·NT.
template <int MT, int NT>
struct WarpSums {
  float value[MT][NT][4];

  __device__ __forceinline__ void Clear() {
    for (int i = 0; i < MT; ++i)
      for (int j = 0; j < NT; ++j)
        for (int e = 0; e < 4; ++e) value[i][j][e] = 0;
  }
  // store(row, col, x(row, col), x(row, col + 1)) for the pairs this lane holds, counted from the tile's
  // corner.
  template <class Store>
  __device__ __forceinline__ void ForEachPair(const Store& store) const {
    const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
#pragma unroll
    for (int i = 0; i < MT; ++i)
#pragma unroll
      for (int j = 0; j < NT; ++j) {
        store(i * 16 + g, j * 8 + 2 * t, value[i][j][0], value[i][j][1]);
        store(i * 16 + g + 8, j * 8 + 2 * t, value[i][j][2], value[i][j][3]);
      }
  }
};

// Where a lane finds its elements of an operand, for k a multiple of 8. The swizzle only depends on the lane
// then, so the loop over k adds one offset.
//
// Rows of the tile run along k: element (r, k) of A, or (k, r) of B, is tile(r, k).
struct AlongRows {
  const float* first;   // k + t
  const float* second;  // k + t + 4
  int stride, turn;

  __device__ __forceinline__ AlongRows(const Tile& tile, int r0) : stride(tile.stride) {
    const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3, swizzle = Swizzle(g);
    first = tile.data + (r0 + g) * stride + t + (swizzle & 4);
    second = tile.data + (r0 + g) * stride + t + (~swizzle & 4);
    turn = swizzle & 24;
  }
  // Element of row r0 + 8·block + g at both k of this lane.
  __device__ __forceinline__ float2 Pair(int block, int k) const {
    const int at = block * 8 * stride + (k ^ turn);
    return make_float2(first[at], second[at]);
  }
};

// Rows of the tile are the k: element (c, k) of A, or (k, c) of B, is tile(k, c).
template <int kBlocks, bool kNarrow = false>
struct AcrossRows {
  const float* first;
  const float* second;
  int stride, column[kBlocks];

  // kNarrow: rows of 16 floats, two to a line of banks, swizzled by NarrowSwizzle.
  __device__ __forceinline__ AcrossRows(const Tile& tile, int c0) : stride(tile.stride) {
    const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    first = tile.data + t * stride + g;
    second = tile.data + (t + 4) * stride + (kNarrow ? g : g ^ 4);
    const int turn = kNarrow ? (t >> 1) << 3 : t << 3;
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) column[i] = (c0 + 8 * i) ^ turn;
  }
  __device__ __forceinline__ float2 Pair(int block, int k) const {
    const int at = k * stride + column[block];
    return make_float2(first[at], second[at]);
  }
};
__device__ __forceinline__ int NarrowSwizzle(int row) { return (row & 2) << 2; }

// sums += A · B for k in begin … end−1, both multiples of 8. kRound: operands were not rounded when written.
template <Precision P, bool kRound, int MT, int NT, class OperandA, class OperandB>
__device__ __forceinline__ void WarpMultiply(WarpSums<MT, NT>& sums, const OperandA& a, const OperandB& b,
                                             int begin, int end) {
  const auto rounded = [](float x) { return kRound ? ForOperand<P>(x) : x; };
#pragma unroll 2
  for (int k = begin; k < end; k += 8) {
    FragmentA<P> fa[MT];
    FragmentB<P> fb[NT];
#pragma unroll
    for (int i = 0; i < MT; ++i) {
      const float2 upper = a.Pair(2 * i, k), lower = a.Pair(2 * i + 1, k);
      fa[i].Set({rounded(upper.x), rounded(lower.x), rounded(upper.y), rounded(lower.y)});
    }
#pragma unroll
    for (int j = 0; j < NT; ++j) {
      const float2 pair = b.Pair(j, k);
      fb[j].Set({rounded(pair.x), rounded(pair.y)});
    }
#pragma unroll
    for (int i = 0; i < MT; ++i)
#pragma unroll
      for (int j = 0; j < NT; ++j) Multiply<P>(sums.value[i][j], fa[i], fb[j]);
  }
}

// 16 bytes from global to shared memory, asynchronously, past L1 (the source may have been written by another
// block of this launch).
__device__ __forceinline__ void CopyAsync16(float* shared, const void* global) {
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(global) : "memory");
}
__device__ __forceinline__ void CopyAsync4(void* shared, const void* global) {
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address), "l"(global) : "memory");
}
__device__ __forceinline__ void CopyCommit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void CopyWait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace l2gcn::cuda
