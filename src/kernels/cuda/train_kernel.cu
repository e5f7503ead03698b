#include "kernels/cuda/runtime.h"
#include "kernels/cuda/train_kernel.cuh"
#include "kernels/cuda/train_kernel.h"

namespace l2gcn::cuda {
namespace {

using Kernel = void (*)(TrainPlan, TrainArguments);

template <Precision P>
Kernel KernelOf(const TrainPlan& plan) {
  if (plan.width == 64) return TrainKernel<P, 64, 64>;
  return plan.width == 32 ? TrainKernel<P, 32, 32> : TrainKernel<P, 32, 16>;
}

Kernel KernelOf(const TrainPlan& plan, Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return KernelOf<Precision::kFp32>(plan);
    case Precision::kBf16:
      return KernelOf<Precision::kBf16>(plan);
    default:
      return KernelOf<Precision::kTf32>(plan);
  }
}

}  // namespace

void PrepareTrain(const TrainPlan& plan, Precision precision) {
  const Kernel kernel = KernelOf(plan, precision);
  Check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(plan.shared_bytes)),
        "setting up the training kernel");
  if (plan.cluster_all && plan.blocks() > 8) {
    Check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
          "setting up clusters");
  }
}

void LaunchTrain(const TrainPlan& plan, Precision precision, const TrainArguments& arguments,
                 cudaStream_t stream) {
  Check(
      cudaMemsetAsync(arguments.flags, 0, 2 * sizeof(uint32_t) * static_cast<size_t>(plan.blocks()), stream),
      "clearing flags");
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeCooperative;
  attributes[0].val.cooperative = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim.x = static_cast<unsigned>(plan.blocks());
  attributes[1].val.clusterDim.y = attributes[1].val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(plan.blocks()));
  config.blockDim = dim3(kTrainThreads);
  config.dynamicSmemBytes = plan.shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = plan.cluster_all ? 2 : 1;
  Check(cudaLaunchKernelEx(&config, KernelOf(plan, precision), plan, arguments),
        "launching the training kernel");
}

void LaunchStageRows(const TrainArguments& arguments, float* staging, cudaStream_t stream) {
  StageRowsKernel<<<kStageBlocks, kStageThreads, 0, stream>>>(arguments, staging);
  Check(cudaGetLastError(), "launching the staging of feature rows");
}

}  // namespace l2gcn::cuda
