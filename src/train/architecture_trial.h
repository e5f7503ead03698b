// Chooses by short trainings what no rule can: whether a layer aggregates over all edges together, over each relation or
// over both, where TrainConfig::relations leaves it open; by the symmetric operator alone or by the mean of the neighbours
// beside it, and then whether its hidden values are normalised node by node or over the batch.
//
// A trial trains the first layer alone, at most kTrialWidth wide, for about kTrialSteps steps; its length does not depend on
// the machine. All trials draw the same batches and are scored on the same evaluation nodes, so that they compare node by
// node: an alternative is taken if its mean loss is lower by kTrialErrors standard errors. Labels of test nodes are never
// read. Whether there are trials is decided by the data and the settings (TrainConfig::architecture_trial).
//
// Trials and the training that follows share the prepared features, the device, the operators and the aggregates of X⁰.
#pragma once

#include <memory>
#include <vector>

#include "l2gcn/config.h"
#include "l2gcn/train.h"
#include "pipeline/layer_pipeline.h"
#include "train/training_set.h"

namespace l2gcn {

struct ChosenArchitecture {
  TrainConfig config;                       // with what the trials chose, and without trials of its own
  std::vector<SeedResult::Trial> trials;    // in order
  std::shared_ptr<LayerPipeline> pipeline;  // for the training that follows
  // What the trials took: their set-up and aggregation, of which that training has the results, and all else.
  double setup_seconds = 0, aggregate_seconds = 0, choose_seconds = 0;
};

ChosenArchitecture ChooseArchitecture(const Context& context, const Dataset& dataset, const SplitNodes& nodes,
                                      const TrainConfig& config);

}  // namespace l2gcn
