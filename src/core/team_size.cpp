#include "core/team_size.h"

#include <algorithm>

namespace l2gcn {
namespace {

constexpr uint32_t kWindow = 8, kWarmUp = 2;  // steps measured in a row, and those before them that are not
constexpr uint32_t kRounds = 3;               // windows of each number in a trial
constexpr uint32_t kFirstInterval = 32, kLongestInterval = 1 << 14;
constexpr double kClearlyBetter = 0.96, kClearlyWorse = 1.25;  // as shares of the present number's time

// 1, 2, 3, 4, 6, 8, 12, 16, 24, …
uint32_t StepUp(uint32_t n) {
  if (n < 4) return n + 1;
  uint32_t power = 4;
  while (power * 2 <= n) power *= 2;
  return n < power + power / 2 ? power + power / 2 : 2 * power;
}
uint32_t StepDown(uint32_t n) {
  uint32_t below = 1;
  while (StepUp(below) < n) below = StepUp(below);
  return below;
}

}  // namespace

uint32_t TeamSize::Neighbour() {
  upwards_ = size_ == 1 || (size_ < most_ && !upwards_);
  return upwards_ ? std::min(most_, StepUp(size_)) : StepDown(size_);
}

void TeamSize::EndTrial(bool better) {
  if (better) {
    size_ = candidate_;
    upwards_ = !upwards_;  // the same direction is tried next
  }
  interval_ = better ? kFirstInterval : std::min(2 * interval_, kLongestInterval);
  wait_ = interval_;
  rounds_ = 0;
  trial_ = false;
}

// A trial: windows of the present number and of the candidate, in turns.
void TeamSize::Took(double seconds) {
  if (most_ == 1) return;
  if (rounds_ == 0) {
    if (wait_ > 0) {
      --wait_;
      return;
    }
    rounds_ = 1, steps_ = 0, window_ = present_ = tried_ = 0;
    candidate_ = Neighbour();
    return;
  }
  if (++steps_ > kWarmUp) window_ += seconds;
  // A candidate that is much slower is given up after a few steps.
  const double usual = present_ / (kWindow * rounds_);
  if (trial_ && steps_ == kWarmUp + 3 && window_ > 3 * kClearlyWorse * usual) return EndTrial(false);
  if (steps_ < kWarmUp + kWindow) return;
  (trial_ ? tried_ : present_) += window_;
  steps_ = 0, window_ = 0;
  if (trial_ && rounds_++ == kRounds) return EndTrial(tried_ < kClearlyBetter * present_);
  trial_ = !trial_;
}

}  // namespace l2gcn
