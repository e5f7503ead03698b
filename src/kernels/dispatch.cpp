// The one place that names the devices.
#include <string>

#include "core/error_format.h"
#include "kernels/backend.h"
#include "kernels/cpu/cpu_backend.h"

namespace l2gcn {

bool CudaAvailable(std::string* why_not) {
  if (why_not != nullptr) *why_not = "this build has no CUDA part";
  return false;
}

std::string CudaBuilt() { return "no"; }

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
  CudaAvailable(&why_not);
  ThrowUsage("--device cuda cannot be used: {}; use --device cpu", why_not);
}

}  // namespace l2gcn
