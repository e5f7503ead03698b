// Profiles a layer's training by phase of its steps. Off by default, because reading the clock costs a small model a few per
// cent.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

namespace l2gcn {

enum class StepPhase {
  kDraw,
  kGather,
  kHidden,
  kLogits,
  kLoss,
  kHiddenGradient,
  kWait,
  kWeightGradient,
  kThetaGradient,
  kUpdate
};
inline constexpr size_t kStepPhases = 10;

// Seconds summed over steps and worker threads.
using StepSeconds = std::array<double, kStepPhases>;

// One worker's stopwatch: Lap(phase) books the time since the last lap.
class LapTimer {
 public:
  LapTimer() = default;
  explicit LapTimer(bool on) : on_(on) {
    if (on_) last_ = Clock::now();
  }
  void Lap(StepPhase phase) {
    if (!on_) return;
    const Clock::time_point now = Clock::now();
    seconds_[static_cast<size_t>(phase)] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }
  const StepSeconds& seconds() const { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  bool on_ = false;
  Clock::time_point last_;
  StepSeconds seconds_{};
};

}  // namespace l2gcn
