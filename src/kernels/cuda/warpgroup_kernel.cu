// Compiled for sm_90a alone: wgmma is neither in earlier nor in later compute capabilities.
#include "kernels/cuda/warpgroup_kernel.cuh"

namespace l2gcn::cuda {
namespace {

__global__ void __launch_bounds__(kTrainThreads, 1)
    WarpgroupKernel(const __grid_constant__ TrainPlan plan,
                    const __grid_constant__ TrainArguments arguments) {
  extern __shared__ __align__(1024) float shared_tiles[];
  WarpgroupTrainer(plan, arguments, shared_tiles).Run();
}

}  // namespace

TrainKernelPointer WarpgroupKernelPointer() { return WarpgroupKernel; }

}  // namespace l2gcn::cuda
