#include "l2gcn/version.h"

#include "graph/partition.h"
#include "kernels/built.h"

namespace l2gcn {

std::string Version() { return L2GCN_VERSION; }

std::vector<std::pair<std::string, std::string>> BuildFeatures() {
  return {{"simd", CpuLevel()}, {"xsmm", "no"}, {"metis", MetisBuilt()}, {"cuda", CudaBuilt()}};
}

}  // namespace l2gcn
