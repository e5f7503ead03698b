#define L2GCN_LANES 16
#include "kernels/cpu/kernels-inl.h"

namespace l2gcn {

extern const CpuKernels kAvx512Kernels;
const CpuKernels kAvx512Kernels = MakeTable("avx512");

}  // namespace l2gcn
