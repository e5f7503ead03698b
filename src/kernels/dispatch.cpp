// The one place that names the devices: a table with a row for each. L2GCN_CUDA_BUILT, where defined, says
// which CUDA part was built.
#include <fmt/ranges.h>

#include <exception>
#include <functional>
#include <future>
#include <string>
#include <system_error>

#include "core/error_format.h"
#include "kernels/backend.h"
#include "kernels/block_ops.h"
#include "kernels/built.h"
#include "kernels/cpu/aggregate.h"
#include "kernels/cpu/block_ops.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/kernels.h"
#include "kernels/disk/disk_backend.h"
#include "kernels/ranks/hosted_backend.h"
#include "kernels/ranks/ranks_backend.h"
#include "kernels/sparse_density.h"
#include "ranks/collectives.h"
#ifdef L2GCN_CUDA_BUILT
#include "kernels/cuda/cuda_backend.h"
#endif

namespace l2gcn {
namespace {

using BackendMaker = std::function<std::unique_ptr<Backend>(const BackendOptions& options)>;

struct Device {
  DeviceKind kind;
  const char* name;
  std::string (*why_not)();       // one sentence on why it cannot be used, or ""
  void (*start)(uint32_t index);  // makes one of its kind ready for use
  // Backends that share the device of a context.
  BackendMaker (*maker)(const Context& context);
  std::unique_ptr<BlockOps> (*make_block_ops)();  // null: there are none
};

#ifdef L2GCN_CUDA_BUILT
std::string WhyNoCuda() { return cuda::WhyNoDevice(); }
void StartCuda(uint32_t index) { cuda::StartDevice(index); }
BackendMaker CudaMaker(const Context& context) { return cuda::CudaBackendMaker(context); }
constexpr const char* kCudaBuilt = L2GCN_CUDA_BUILT;
#else
std::string WhyNoCuda() { return "this build has no CUDA part"; }
void StartCuda(uint32_t) {}
BackendMaker CudaMaker(const Context&) { return {}; }
constexpr const char* kCudaBuilt = "no";
#endif

BackendMaker CpuMaker(const Context&) {
  return [](const BackendOptions& options) { return MakeCpuBackend(options); };
}

// In rising order of preference: `auto` takes the last one that can be used.
constexpr Device kDevices[] = {
    {DeviceKind::kCpu, "cpu", [] { return std::string(); }, [](uint32_t) {}, CpuMaker, MakeCpuBlockOps},
    {DeviceKind::kCuda, "cuda", WhyNoCuda, StartCuda, CudaMaker, nullptr},
};

const Device& RowOf(DeviceKind kind) {
  for (const Device& device : kDevices) {
    if (device.kind == kind) return device;
  }
  L2GCN_ASSERT(false);
}

void CheckUsable(const Device& device) {
  const std::string why_not = device.why_not();
  if (why_not.empty()) return;
  ThrowUsage("--device {} cannot be used: {}; use --device {}", device.name, why_not,
             DeviceName(DeviceKind::kCpu));
}

// What a rank computes with: its cores, or its GPU, whose rows lie in host memory between two operations.
LocalBackends BackendsOfRank(const Context& context, const BackendOptions& options) {
  const Device& device = RowOf(context.device);
  CheckUsable(device);
  const Context alone = WithoutRanks(context);
  LocalBackends backends;
  backends.sparse_density = SparseDensityOf(device.kind);
  if (device.kind == DeviceKind::kCpu) {
    Context in_memory = alone;
    in_memory.disk.reset();
    backends.make_local = [alone](const BackendOptions& own) { return MakeBackend(alone, own); };
    backends.make_trainer = [in_memory](const BackendOptions& own) { return MakeBackend(in_memory, own); };
    return backends;
  }
  if (context.disk != nullptr) {
    ThrowUsage(
        "--device {}: ranks share one model from disk on the CPU alone; use a larger --memory or --device {}",
        device.name, DeviceName(DeviceKind::kCpu));
  }
  const LocalBackendMaker maker = device.maker(alone);
  const std::shared_ptr<Backend> trainer = maker(options);
  backends.make_trainer = [trainer](const BackendOptions&) { return trainer; };
  backends.make_local = [=](const BackendOptions& own) {
    return MakeHostedBackend(own == options ? trainer : maker(own), own.features_as);
  };
  backends.sum_in_place = false;
  backends.product_type = options.features_as;
  return backends;
}

}  // namespace

std::string CudaBuilt() { return kCudaBuilt; }

bool CudaAvailable(std::string* why_not) {
  const std::string reason = WhyNoCuda();
  if (why_not != nullptr) *why_not = reason;
  return reason.empty();
}

std::string DeviceName(DeviceKind device) { return RowOf(device).name; }

std::vector<std::string> DeviceNames() {
  std::vector<std::string> names;
  for (const Device& device : kDevices) names.emplace_back(device.name);
  return names;
}

DeviceKind ChooseDevice(const std::string& name) {
  const bool automatic = name == "auto";
  DeviceKind preferred = DeviceKind::kCpu;
  for (const Device& device : kDevices) {
    if (automatic && device.why_not().empty()) preferred = device.kind;
    if (name != device.name) continue;
    CheckUsable(device);
    return device.kind;
  }
  if (automatic) return preferred;
  ThrowUsage("unknown device '{}'; expected auto, {}", name, fmt::join(DeviceNames(), " or "));
}

std::function<DeviceKind()> StartDevice(const std::string& name, uint32_t index) {
  struct Start {
    std::promise<DeviceKind> found;
    std::future<DeviceKind> kind = found.get_future();
    std::future<void> ready;  // ends first, as it sets `found`
  };
  const auto started = std::make_shared<Start>();
  const auto start = [&found = started->found, name, index] {
    DeviceKind kind = DeviceKind::kCpu;
    try {
      kind = ChooseDevice(name);
    } catch (...) {
      return found.set_exception(std::current_exception());
    }
    found.set_value(kind);
    try {
      RowOf(kind).start(index);
    } catch (const Error&) {
      // Who uses the device meets the same failure, and tells it.
    }
  };
  try {
    started->ready = std::async(std::launch::async, start);
  } catch (const std::system_error&) {  // no thread is to be had
    start();
  }
  return [started] { return started->kind.get(); };
}

std::unique_ptr<Backend> MakeBackend(const Context& context, const BackendOptions& options) {
  if (context.ranks != nullptr) return MakeRanksBackend(context, options, BackendsOfRank(context, options));
  const Device& device = RowOf(context.device);
  CheckUsable(device);
  if (context.disk == nullptr) return device.maker(context)(options);
  const bool elsewhere = device.kind != DeviceKind::kCpu;
  return MakeDiskBackend(context, options, elsewhere ? device.maker(context)(options) : nullptr);
}

std::unique_ptr<BlockOps> MakeBlockOps(const Context& context) {
  const Device& device = RowOf(context.device);
  if (device.make_block_ops == nullptr) {
    ThrowUsage("--device {} has no part for conventional training; use --device {}", device.name,
               DeviceName(DeviceKind::kCpu));
  }
  return device.make_block_ops();
}

}  // namespace l2gcn
