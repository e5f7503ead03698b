// Train nodes that the steps leave out for evaluation. Their rows are part of the training's own X̂, so evaluating them needs no
// further activations, on any device. They replace validation nodes where none has a label, or where the whole graph's
// activations would cost more than the training itself.
//
// The same nodes are held out in every layer, so that no earlier layer has learned them. With an automatic rate they take part in
// the cool-down of the last layer. At a fixed rate they never do; then only large data sets, where they are a negligible share,
// hold nodes out by default.
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

// How many train nodes a policy that evaluates nodes holds out (TrainConfig::hold_out); 0: it evaluates validation nodes.
uint32_t HeldOutCount(const TrainConfig& config, const Dataset& dataset, const SplitNodes& nodes);

// `held`: `count` positions in nodes.train, drawn at random with the run's seed, ascending. `others`: all other positions.
struct HeldOut {
  std::vector<uint32_t> held, others;
};
HeldOut DrawHeldOut(const SplitNodes& nodes, uint32_t count, uint64_t seed);

}  // namespace l2gcn
