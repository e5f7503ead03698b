// Failures of the CUDA runtime become Error. Apart from runtime.h, so that kernels, which take minutes to compile, do not
// depend on how memory is managed.
#pragma once

#include <cuda_runtime_api.h>

namespace l2gcn::cuda {

// Throws Error(kRuntime) saying what was being done.
void Check(cudaError_t status, const char* what);

}  // namespace l2gcn::cuda
