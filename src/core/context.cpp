#include "l2gcn/context.h"

#include <sched.h>

#include "core/threads.h"
#include "l2gcn/error.h"

namespace l2gcn {

uint32_t UsableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return static_cast<uint32_t>(CPU_COUNT(&set));
  return 1;
}

void Context::CheckCancelled() const {
  if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) {
    throw Error(ErrorKind::kCancelled, "stopped on request; nothing was written");
  }
}

Context MakeContext(uint32_t threads, uint64_t seed) {
  Context context;
  context.threads = threads == 0 ? UsableCores() : threads;
  context.pool = std::make_shared<ThreadPool>(context.threads);
  context.seed = seed;
  return context;
}

Context SingleThreaded(const Context& context) {
  Context single = context;
  single.threads = 1;
  single.pool = std::make_shared<ThreadPool>(1);
  return single;
}

}  // namespace l2gcn
