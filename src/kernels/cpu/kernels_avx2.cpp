#define L2GCN_LANES 8
#include "kernels/cpu/kernels-inl.h"

namespace l2gcn {

extern const CpuKernels kAvx2Kernels;
const CpuKernels kAvx2Kernels = MakeTable("avx2");

}  // namespace l2gcn
