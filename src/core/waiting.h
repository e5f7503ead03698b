// How a thread waits for another: it looks for a bounded time, then sleeps in the kernel (futex), so that a
// waiter never keeps a core from the thread it waits for.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace l2gcn {

// Looks until `changed()` is true, for a bounded time; false if it never was.
template <class Changed>
bool LookUntil(const Changed& changed) {
  constexpr std::chrono::microseconds kLong(100);  // more than waking a sleeping virtual core costs
  constexpr int kLooksPerClock = 32;               // a clock costs as much as several looks
  const auto end = std::chrono::steady_clock::now() + kLong;
  do {
    for (int look = 0; look < kLooksPerClock; ++look) {
      if (changed()) return true;
      __builtin_ia32_pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

// A number that threads wait on. Whoever changes it wakes those who sleep; while nobody sleeps that costs one
// load.
class alignas(64) WaitWord {
 public:
  explicit WaitWord(uint32_t value = 0) : value_(value) {}

  uint32_t Load() const { return value_.load(std::memory_order_acquire); }
  void Store(uint32_t value) {
    value_.store(value, std::memory_order_seq_cst);
    WakeSleepers();
  }
  uint32_t Add(uint32_t by) {  // returns the sum
    const uint32_t sum = value_.fetch_add(by, std::memory_order_seq_cst) + by;
    WakeSleepers();
    return sum;
  }
  // True if it was `from`. Wakes nobody.
  bool Exchange(uint32_t from, uint32_t to) {
    return value_.compare_exchange_strong(from, to, std::memory_order_seq_cst);
  }
  // Both return once the value is no longer `old`; the first one looks for a while before it sleeps.
  void WaitWhile(uint32_t old) const {
    if (!LookUntil([&] { return Load() != old; })) SleepWhile(old);
  }
  void SleepWhile(uint32_t old) const;

 private:
  void WakeSleepers() {
    if (sleepers_.load(std::memory_order_seq_cst) != 0) WakeAll();
  }
  void WakeAll();

  std::atomic<uint32_t> value_;
  mutable std::atomic<uint32_t> sleepers_{0};
};

}  // namespace l2gcn
