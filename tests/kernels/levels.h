// The instruction-set levels of this processor whose f32 kernels differ: the level of AMX has those of AVX-512, and its
// products in bf16 have a test of their own (amx_test.cpp).
#pragma once

#include <string>
#include <vector>

#include "kernels/cpu/kernels.h"

namespace l2gcn {

inline std::vector<std::string> F32Levels() {
  std::vector<std::string> levels = CpuKernelLevels();
  if (levels.front() == "amx") levels.erase(levels.begin());
  return levels;
}

}  // namespace l2gcn
