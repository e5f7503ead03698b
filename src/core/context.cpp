#include "l2gcn/context.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <memory>

#include "core/cpu_quota.h"
#include "core/error_format.h"
#include "core/threads.h"
#include "l2gcn/error.h"

namespace l2gcn {
namespace {

// Cores that the process may be scheduled on. The set grows until it is as large as the kernel's own.
uint32_t CoresOfAffinity() {
  for (int cores = 1024; cores <= (1 << 20); cores *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(static_cast<size_t>(cores)),
                                                               [](cpu_set_t* s) { CPU_FREE(s); });
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cores));
    if (set == nullptr) break;
    if (sched_getaffinity(0, bytes, set.get()) == 0) {
      return static_cast<uint32_t>(std::max(1, CPU_COUNT_S(bytes, set.get())));
    }
    if (errno != EINVAL) break;
  }
  return 1;
}

}  // namespace

uint32_t UsableCores() {
  const uint32_t cores = CoresOfAffinity();
  const double quota = CpuQuota();
  if (quota <= 0) return cores;
  // A last thread that may run for a fifth of the time or less costs more in meetings than it brings.
  constexpr double kTooLittle = 0.2;
  const double useful = std::max(1.0, std::ceil(quota - kTooLittle));
  return useful < cores ? static_cast<uint32_t>(useful) : cores;
}

void Context::CheckCancelled() const {
  if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) {
    throw Error(ErrorKind::kCancelled, "stopped on request; nothing was written");
  }
}

Context MakeContext(uint32_t threads) {
  constexpr uint32_t kMostThreads = 4096;
  if (threads > kMostThreads) {
    ThrowUsage("a context of {} threads; expected at most {}, or 0 for one a core", threads, kMostThreads);
  }
  Context context;
  context.pool = std::make_shared<ThreadPool>(threads == 0 ? UsableCores() : threads);
  context.threads = context.pool->threads();
  return context;
}

Context SingleThreaded(const Context& context) {
  Context single = context;
  single.threads = 1;
  single.pool = std::make_shared<ThreadPool>(1);
  return single;
}

}  // namespace l2gcn
