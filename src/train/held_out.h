// Train nodes that the steps leave out so that decisions can look at them: their rows lie in the training's own X̂,
// so a look at them needs no activations beside those, on any device. They take the place of validation nodes where
// there are none with labels, or where the whole graph's activations would cost more than the training itself.
//
// The same nodes are held out in every layer, so that no layer before has learned them. Where the rate is found they are
// given back for the last epochs of the last layer; at a fixed rate they are not, and only sets so large that they are
// next to nothing hold any out unless asked to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "l2gcn/config.h"
#include "l2gcn/dataset.h"
#include "train/training_set.h"

namespace l2gcn {

// Whether any validation node has a label.
bool HasValidationLabels(const Dataset& dataset, const SplitNodes& nodes);

// How many train nodes a policy that looks is to hold out; 0: it looks at validation nodes. Follows
// TrainConfig::hold_out.
uint32_t HeldOutCount(const TrainConfig& config, const Dataset& dataset, const SplitNodes& nodes);

// `count` positions of nodes.train, drawn at random with the run's seed, ascending; and all the others.
struct HeldOut {
  std::vector<uint32_t> held, others;
};
HeldOut DrawHeldOut(const SplitNodes& nodes, uint32_t count, uint64_t seed);

}  // namespace l2gcn
