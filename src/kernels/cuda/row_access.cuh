// Four neighbouring elements of a dense row, whatever type it is stored in, as floats.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/cuda/rows.h"

namespace l2gcn::cuda {

template <RowKind kKind>
__device__ __forceinline__ float4 Load4(const void* base, size_t at) {
  if constexpr (kKind == RowKind::kF32) {
    return __ldg(reinterpret_cast<const float4*>(static_cast<const float*>(base) + at));
  } else {
    const uint2 bits = __ldg(reinterpret_cast<const uint2*>(static_cast<const uint16_t*>(base) + at));
    float2 low, high;
    if constexpr (kKind == RowKind::kF16) {
      low = __half22float2(*reinterpret_cast<const __half2*>(&bits.x));
      high = __half22float2(*reinterpret_cast<const __half2*>(&bits.y));
    } else {
      low = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&bits.x));
      high = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&bits.y));
    }
    return make_float4(low.x, low.y, high.x, high.y);
  }
}

template <RowKind kKind>
__device__ __forceinline__ void Store4(void* base, size_t at, float4 x) {
  if constexpr (kKind == RowKind::kF32) {
    *reinterpret_cast<float4*>(static_cast<float*>(base) + at) = x;
  } else {
    uint2 bits;
    if constexpr (kKind == RowKind::kF16) {
      *reinterpret_cast<__half2*>(&bits.x) = __floats2half2_rn(x.x, x.y);
      *reinterpret_cast<__half2*>(&bits.y) = __floats2half2_rn(x.z, x.w);
    } else {
      *reinterpret_cast<__nv_bfloat162*>(&bits.x) = __floats2bfloat162_rn(x.x, x.y);
      *reinterpret_cast<__nv_bfloat162*>(&bits.y) = __floats2bfloat162_rn(x.z, x.w);
    }
    *reinterpret_cast<uint2*>(static_cast<uint16_t*>(base) + at) = bits;
  }
}

}  // namespace l2gcn::cuda
