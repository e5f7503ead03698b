#include "core/team_size.h"

#include <algorithm>

namespace l2gcn {
namespace {

constexpr uint32_t kWindow = 8, kWarmUp = 2;  // steps measured in a row, and those before them that are not
constexpr uint32_t kRounds = 3;               // windows of each number that a trial needs
constexpr uint32_t kFirstInterval = 32, kLongestInterval = 1 << 14;
constexpr double kClearlyBetter = 0.96, kClearlyWorse = 1.25;  // as shares of the present number's time

}  // namespace

// Powers of two and the largest number: a step's tasks are cut evenly among those.
uint32_t TeamSize::Neighbour() {
  upwards_ = size_ == 1 || (size_ < most_ && !upwards_);
  uint32_t power = 1;
  while (2 * power < size_ || (upwards_ && power <= size_)) power *= 2;
  return std::min(most_, power);
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

// A trial: windows of the present number and of the candidate, in turns. The candidate must win every turn: a
// stall of the machine, which falls into one window, then changes nothing.
void TeamSize::Took(double seconds) {
  if (most_ == 1) return;
  if (rounds_ == 0) {
    if (wait_ > 0) {
      --wait_;
      return;
    }
    rounds_ = 1, steps_ = 0, window_ = present_ = 0;
    candidate_ = Neighbour();
    return;
  }
  if (++steps_ > kWarmUp) window_ += seconds;
  // A candidate that is much slower is given up after a few steps.
  if (trial_ && steps_ == kWarmUp + 3 && window_ * kWindow > 3 * kClearlyWorse * present_)
    return EndTrial(false);
  if (steps_ < kWarmUp + kWindow) return;
  if (!trial_) {
    present_ = window_;
  } else if (window_ >= kClearlyBetter * present_) {
    return EndTrial(false);
  } else if (rounds_++ == kRounds) {
    return EndTrial(true);
  }
  steps_ = 0, window_ = 0;
  trial_ = !trial_;
}

}  // namespace l2gcn
