// Which trainer a method means, and which policy stops it.
#pragma once

#include <memory>

#include "l2gcn/train.h"
#include "train/stop_policy.h"

namespace l2gcn {

// The context to train `method` in. Where it has no part for the context's device: the CPU if that device was
// chosen automatically (with a note), else Error(kUsage).
Context OnCapableDevice(const Context& context, const std::string& method);

std::unique_ptr<StopPolicy> MakeStopPolicy(const TrainConfig& config, const Dataset& dataset);

// Train() with a policy of the caller's.
Trained TrainWith(const Context& context, const Dataset& dataset, const TrainConfig& config,
                  StopPolicy& policy);

}  // namespace l2gcn
