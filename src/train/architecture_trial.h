// Chooses by short trainings what no rule can: whether a layer aggregates by the symmetric operator alone or by the mean
// of the neighbours beside it, and then whether its hidden values are normalised node by node or over the batch.
//
// A trial trains the first layer alone, at most kTrialWidth wide, for about kTrialSteps steps; its length does not depend on
// the machine. All trials draw the same batches and are scored on the same evaluation nodes, so that they compare node by
// node: an alternative is taken if its mean loss is lower by kTrialErrors standard errors. Labels of test nodes are never
// read. Whether there are trials is decided by the data and the settings (TrainConfig::architecture_trial).
#pragma once

#include <vector>

#include "l2gcn/config.h"
#include "l2gcn/train.h"
#include "train/training_set.h"

namespace l2gcn {

// The configuration with what the trials chose, and without trials of its own. `records` gets the trials in order.
TrainConfig ChooseArchitecture(const Context& context, const Dataset& dataset, const SplitNodes& nodes,
                               const TrainConfig& config, std::vector<ArchitectureTrial>& records);

}  // namespace l2gcn
