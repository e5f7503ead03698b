#include "l2gcn/version.h"

#include "kernels/backend.h"
#include "kernels/cpu/kernels.h"

namespace l2gcn {

std::string Version() { return L2GCN_VERSION; }

std::vector<std::pair<std::string, std::string>> BuildFeatures() {
  return {{"simd", CpuKernelTable().name}, {"xsmm", "no"}, {"metis", "no"}, {"cuda", CudaBuilt()}};
}

}  // namespace l2gcn
