#include "core/waiting.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace l2gcn {
namespace {

// The kernel compares and sleeps in one step, so a change between our load and its own is never missed.
void FutexWait(const std::atomic<uint32_t>& word, uint32_t old) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, old, nullptr, nullptr, 0);
}
void FutexWakeAll(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

void WaitWord::SleepWhile(uint32_t old) const {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while (value_.load(std::memory_order_seq_cst) == old) FutexWait(value_, old);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void WaitWord::WakeAll() { FutexWakeAll(value_); }

}  // namespace l2gcn
