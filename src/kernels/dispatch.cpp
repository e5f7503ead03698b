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

std::unique_ptr<Backend> MakeBackend(const Context& context, const BackendOptions& options) {
  if (context.device == DeviceKind::kCpu) return MakeCpuBackend(options);
  std::string why_not;
  CudaAvailable(&why_not);
  ThrowUsage("--device cuda cannot be used: {}; use --device cpu", why_not);
}

}  // namespace l2gcn
