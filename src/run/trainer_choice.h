// Which device, policy and trainer a configuration means. A run makes each choice once.
#pragma once

#include <string>

#include "l2gcn/train.h"
#include "train/snapshot.h"
#include "train/stop_policy.h"
#include "train/training_set.h"

namespace l2gcn {

// The context to train `method` in. Where the method has no part for the context's device, this is the CPU if
// the device was chosen automatically (with a note); else Error(kUsage).
Context OnDeviceOf(const Context& context, const std::string& method);

// The split of a configuration, with its nodes listed.
SplitNodes NodesOf(const Dataset& dataset, const TrainConfig& config);

// The policy that the configuration names, or its method's own.
std::unique_ptr<StopPolicy> MakeStopPolicy(const TrainConfig& config, const Dataset& dataset,
                                           const SplitNodes& nodes);

// Train() with all choices made: `context` is one that OnDeviceOf returned. If checkpointer is not null the
// training goes on from its snapshot and keeps more of them; ngcn-layerwise alone begins anew.
Trained TrainWith(const Context& context, const Dataset& dataset, const SplitNodes& nodes,
                  const TrainConfig& config, StopPolicy& policy, Checkpointer* checkpointer = nullptr);

}  // namespace l2gcn
