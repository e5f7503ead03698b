// The stop policies that --stop names: one row each. A new policy is its own file with a maker, and one row
// in stop_policies.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "l2gcn/config.h"

namespace l2gcn {

class StopPolicy;   // train/stop_policy.h
struct SplitNodes;  // train/training_set.h

// What a policy may look at when it is made.
struct PolicyRequest {
  const TrainConfig& config;
  const Dataset& dataset;
  const SplitNodes& nodes;
};
using StopPolicyMaker = std::unique_ptr<StopPolicy>(const PolicyRequest& request);

struct StopPolicyRow {
  const char* name;      // as --stop takes it
  const char* sentence;  // for people
  StopPolicyMaker* make;
  bool makes_the_method;  // asking for it is asking for the method whose own policy it is (config/methods.h)
};

std::span<const StopPolicyRow> StopPolicies();

// Throws Error(kUsage) that names the nearest policy if there is none of this name.
const StopPolicyRow& FindStopPolicy(const std::string& name);

}  // namespace l2gcn
