#include "train/stop_policy.h"

#include <limits>

namespace l2gcn {

void EarlyStopping::BeginLayer(const LayerView&) {
  best_ = -std::numeric_limits<double>::infinity();
  best_epoch_ = 0;
}

Decision EarlyStopping::Decide(const Observation& observation) {
  const double score = watch_ == Watch::kLoss ? -observation.losses.back() : observation.validation.f1;
  const bool better = score > best_;
  if (better) {
    best_ = score;
    best_epoch_ = observation.epoch;
  }
  return {observation.epoch - best_epoch_ >= patience_, -1, better};
}

}  // namespace l2gcn
