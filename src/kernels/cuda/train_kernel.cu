#include "kernels/cuda/batch_shares.cuh"
#include "kernels/cuda/check.h"
#include "kernels/cuda/stage_rows.cuh"
#include "kernels/cuda/train_kernel.cuh"
#include "kernels/cuda/train_kernel.h"

namespace l2gcn::cuda {
namespace {

template <Precision P>
TrainKernelPointer KernelOf(const TrainPlan& plan) {
  if (plan.width == 64) return TrainKernel<P, 64, 64>;
  return plan.width == 32 ? TrainKernel<P, 32, 32> : TrainKernel<P, 32, 16>;
}

TrainKernelPointer KernelOf(const TrainPlan& plan, Precision precision) {
  if (plan.warpgroups) return WarpgroupKernelPointer();
  switch (precision) {
    case Precision::kFp32:
      return KernelOf<Precision::kFp32>(plan);
    case Precision::kBf16:
      return KernelOf<Precision::kBf16>(plan);
    default:
      return KernelOf<Precision::kTf32>(plan);
  }
}

// As much shared memory as a block may have, whatever the plan: trainings of several plans may be under way
// in one process, and they share the kernel's attribute.
void AllowSharedMemory(TrainKernelPointer kernel) {
  int most = 0;
  Check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0),
        "setting up the training kernel");
  Check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
        "setting up the training kernel");
}

// The launch of a plan; attributes (2) must outlive it.
cudaLaunchConfig_t ConfigOf(const TrainPlan& plan, cudaLaunchAttribute* attributes) {
  attributes[0].id = cudaLaunchAttributeCooperative;
  attributes[0].val.cooperative = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim.x = static_cast<unsigned>(plan.warpgroups ? 2 : plan.blocks());
  attributes[1].val.clusterDim.y = attributes[1].val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(plan.blocks()));
  config.blockDim = dim3(kTrainThreads);
  config.dynamicSmemBytes = plan.shared_bytes;
  config.attrs = attributes;
  config.numAttrs = plan.cluster_all || plan.warpgroups ? 2 : 1;
  return config;
}

}  // namespace

bool PairsFit(const TrainPlan& plan) {
  AllowSharedMemory(WarpgroupKernelPointer());
  cudaLaunchAttribute attributes[2];
  const cudaLaunchConfig_t config = ConfigOf(plan, attributes);
  int pairs = 0;
  Check(cudaOccupancyMaxActiveClusters(&pairs, WarpgroupKernelPointer(), &config),
        "asking for room for pairs of blocks");
  return 2 * pairs >= plan.blocks();
}

void PrepareTrain(const TrainPlan& plan, Precision precision) {
  const TrainKernelPointer kernel = KernelOf(plan, precision);
  AllowSharedMemory(kernel);
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
  cudaLaunchConfig_t config = ConfigOf(plan, attributes);
  config.stream = stream;
  Check(cudaLaunchKernelEx(&config, KernelOf(plan, precision), plan, arguments),
        "launching the training kernel");
}

void LaunchStageRows(const TrainArguments& arguments, float* staging, cudaStream_t stream) {
  StageRowsKernel<<<kStageBlocks, kStageThreads, 0, stream>>>(arguments, staging);
  Check(cudaGetLastError(), "launching the staging of feature rows");
}

void LaunchBatchShares(const TrainArguments& arguments, cudaStream_t stream) {
  const auto steps = static_cast<unsigned>(arguments.last_step - arguments.first_step);
  BatchSharesKernel<<<steps, kShareThreads, 0, stream>>>(arguments);
  Check(cudaGetLastError(), "launching the sums of class weights");
}

}  // namespace l2gcn::cuda
