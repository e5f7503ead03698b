// How the learning rate moves over the steps of a layer: level, and then in a straight line towards 0.
//
//   share(step) = 1                                        before step `begin`
//                 (end − step) / (end − begin)             from there on, so that step `end` would have rate 0
//
// Steps count from the layer's first, as they name its random streams. Plain C++ usable from CUDA, so that every
// backend computes the same factor.
#pragma once

#include <cstdint>
#include <limits>

#include "core/rng.h"

namespace l2gcn {

struct LrDecay {
  uint64_t begin = std::numeric_limits<uint64_t>::max(), end = std::numeric_limits<uint64_t>::max();

  L2GCN_HOST_DEVICE float Share(uint64_t step) const {
    if (step < begin) return 1.0f;
    return step < end ? static_cast<float>(end - step) / static_cast<float>(end - begin) : 0.0f;
  }
};

// The same in epochs: what a trainer asks for. Level throughout unless `begin` is set.
struct LrSchedule {
  static constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();
  uint32_t begin = kNever, end = kNever;

  LrDecay InSteps(uint32_t steps_per_epoch) const {
    if (begin == kNever) return {};
    return {uint64_t{begin} * steps_per_epoch, uint64_t{end} * steps_per_epoch};
  }
};

}  // namespace l2gcn
