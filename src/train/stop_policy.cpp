#include "train/stop_policy.h"

#include <limits>

#include "config/stop_policies.h"
#include "core/error_format.h"

namespace l2gcn {

void EarlyStopping::BeginLayer(const LayerView&) {
  best_ = -std::numeric_limits<double>::infinity();
  best_epoch_ = 0;
}

void EarlyStopping::Restore(std::span<const double> memory) {
  if (memory.size() != 2) ThrowInput("the checkpoint's early stopping is damaged");
  best_ = memory[0];
  best_epoch_ = static_cast<uint32_t>(memory[1]);
}

Decision EarlyStopping::Decide(const Observation& observation) {
  const double score = watch_ == Watch::kLoss           ? -observation.losses.back()
                       : watch_ == Watch::kValidationF1 ? observation.validation.f1
                                                        : -observation.validation.loss;
  const bool better = score > best_;
  if (better) {
    best_ = score;
    best_epoch_ = observation.epoch;
  }
  return {observation.epoch - best_epoch_ >= patience_, -1, better};
}

std::unique_ptr<StopPolicy> MakeFixedEpochs(const PolicyRequest&) { return std::make_unique<FixedEpochs>(); }

std::unique_ptr<StopPolicy> MakeEarlyStopping(const PolicyRequest& request) {
  return std::make_unique<EarlyStopping>(request.config.patience, request.config.watch);
}

}  // namespace l2gcn
