// How a thread waits for another: it looks for a bounded time, then sleeps in the kernel (futex), so that a
// waiter never keeps a core from the thread it waits for.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace l2gcn {

// More than waking a sleeping virtual core costs.
constexpr std::chrono::microseconds kShortSpin(100);
constexpr std::chrono::microseconds kLongSpin(500);

struct SpinResult {
  bool changed;    // false: it was never seen
  bool lost_core;  // for longer than an interrupt takes: something else wanted it
};

// Looks until `changed()` is true, for a bounded time.
template <class Changed>
SpinResult SpinUntil(const Changed& changed, std::chrono::microseconds limit = kShortSpin) {
  constexpr std::chrono::microseconds kInterrupt(200);
  constexpr int kSpinsPerClock = 32;  // a clock costs as much as several looks
  const auto end = std::chrono::steady_clock::now() + limit;
  auto before = end - limit;
  SpinResult look{false, false};
  do {
    for (int i = 0; i < kSpinsPerClock; ++i) {
      if (changed()) return look.changed = true, look;
      __builtin_ia32_pause();
    }
    const auto now = std::chrono::steady_clock::now();
    look.lost_core |= now - before > kInterrupt;
    before = now;
  } while (before < end);
  return look;
}

// What one thread has learned about waiting. While everyone it waits for has a core, looking for a long time is cheaper
// than sleeping and being woken. Where others want the cores, it keeps a core from the thread that is waited for. A long
// look that saw nothing, or that lost its core, speaks for the latter: short looks follow, more each time.
class Patience {
 public:
  // `patient` false: it never looks for long.
  explicit Patience(bool patient = false) : patient_(patient) {}

  template <class Changed>
  bool SpinUntil(const Changed& changed) {
    if (!patient_) return l2gcn::SpinUntil(changed).changed;
    if (short_spins_ > 0) {
      --short_spins_;
      return l2gcn::SpinUntil(changed).changed;
    }
    const SpinResult look = l2gcn::SpinUntil(changed, kLongSpin);
    const bool well = look.changed && !look.lost_core;
    next_short_spins_ = well ? kFewest : std::min(2 * next_short_spins_, kMost);
    short_spins_ = well ? 0 : next_short_spins_;
    return look.changed;
  }

 private:
  static constexpr uint32_t kFewest = 8, kMost = 1024;
  bool patient_;
  uint32_t short_spins_ = 0;  // still to come
  uint32_t next_short_spins_ = kFewest;
};

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
    if (!SpinUntil([&] { return Load() != old; }).changed) SleepWhile(old);
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
