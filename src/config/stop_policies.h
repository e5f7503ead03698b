// The stop policies that --stop names: one row each. A new policy is its own file with a maker, and one row
// in stop_policies.cpp.
#pragma once

#include <memory>

#include "l2gcn/config.h"

namespace l2gcn {

class StopPolicy;   // train/stop_policy.h
struct SplitNodes;  // train/training_set.h

// With fewer train nodes a rule holds none of them out: a tenth of them would decide nothing.
inline constexpr uint64_t kLeastToHoldOut = 20;

// What a policy may look at when it is made.
struct PolicyRequest {
  const TrainConfig& config;
  const Dataset& dataset;
  const SplitNodes& nodes;
};
using StopPolicyMaker = std::unique_ptr<StopPolicy>(const PolicyRequest& request);

struct StopPolicyRow {
  StopRule rule;
  StopPolicyMaker* make;
  bool per_layer;  // decides layer by layer, so it needs a method that trains so
};

const StopPolicyRow& StopPolicyOf(StopRule rule);

}  // namespace l2gcn
