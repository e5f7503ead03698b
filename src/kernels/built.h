// The kernels that this build contains, for --version.
#pragma once

#include <string>

namespace l2gcn {

// The instruction set that the CPU's kernels use on this machine: "baseline", "avx2", "avx512" or
// "amx".
std::string CpuLevel();
// The lesser of two of these.
std::string LesserCpuLevel(const std::string& a, const std::string& b);
// Toolkit version and architectures of the CUDA part, "13.0 sm_80 sm_90", or "no".
std::string CudaBuilt();

}  // namespace l2gcn
