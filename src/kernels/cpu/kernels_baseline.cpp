#define L2GCN_LANES 4
#include "kernels/cpu/kernels-inl.h"

namespace l2gcn {

extern const CpuKernels kBaselineKernels;
const CpuKernels kBaselineKernels = MakeTable("baseline");

}  // namespace l2gcn
