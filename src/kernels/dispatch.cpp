// The one place that names the devices. L2GCN_CUDA_BUILT, where defined, says which CUDA part was built.
#include <string>

#include "core/error_format.h"
#include "kernels/backend.h"
#include "kernels/cpu/cpu_backend.h"
#ifdef L2GCN_CUDA_BUILT
#include "kernels/cuda/cuda_backend.h"
#endif

namespace l2gcn {

#ifdef L2GCN_CUDA_BUILT
namespace {
std::string WhyNoCuda() { return cuda::WhyNoDevice(); }
std::unique_ptr<Backend> MakeCuda(const Context& context, const BackendOptions& options) {
  return cuda::MakeCudaBackend(context, options);
}
}  // namespace
std::string CudaBuilt() { return L2GCN_CUDA_BUILT; }
#else
namespace {
std::string WhyNoCuda() { return "this build has no CUDA part"; }
std::unique_ptr<Backend> MakeCuda(const Context&, const BackendOptions&) { return nullptr; }
}  // namespace
std::string CudaBuilt() { return "no"; }
#endif

bool CudaAvailable(std::string* why_not) {
  const std::string reason = WhyNoCuda();
  if (why_not != nullptr) *why_not = reason;
  return reason.empty();
}

DeviceKind ChooseDevice(const std::string& name) {
  if (name == "cpu") return DeviceKind::kCpu;
  std::string why_not;
  const bool cuda = CudaAvailable(&why_not);
  if (name == "auto") return cuda ? DeviceKind::kCuda : DeviceKind::kCpu;
  if (name != "cuda") ThrowUsage("unknown device '{}'; expected auto, cpu or cuda", name);
  if (!cuda) ThrowUsage("--device cuda cannot be used: {}; use --device cpu", why_not);
  return DeviceKind::kCuda;
}

std::unique_ptr<Backend> MakeBackend(const Context& context, const BackendOptions& options) {
  if (context.device == DeviceKind::kCpu) return MakeCpuBackend(options);
  std::string why_not;
  if (!CudaAvailable(&why_not)) ThrowUsage("--device cuda cannot be used: {}; use --device cpu", why_not);
  return MakeCuda(context, options);
}

}  // namespace l2gcn
