// ReLU on the device. NaN stays NaN, as on the CPU, so that an overflow shows in what is computed from it.
#pragma once

namespace l2gcn::cuda {

// One instruction, like fmaxf, which would return 0 for NaN; other values get the same bits from both.
__device__ __forceinline__ float Relu(float x) {
  float positive;
  asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(positive) : "f"(x));
  return positive;
}
__device__ __forceinline__ float4 Relu(float4 v) {
  return make_float4(Relu(v.x), Relu(v.y), Relu(v.z), Relu(v.w));
}

}  // namespace l2gcn::cuda
