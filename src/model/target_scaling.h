// Targets of a regression are standardised for training, so that rates, losses and stopping rules do not depend on their
// units. Predictions are put back into these units as soon as they are computed (Inference).
#pragma once

#include <cstdint>
#include <span>

#include "l2gcn/dataset.h"
#include "l2gcn/model.h"

namespace l2gcn {

// Mean and deviation of every target over the train nodes that have it. Throws Error(kInput) naming a target that no train
// node has, or that is the same for all of them.
Model::TargetScaling FitTargetScaling(const Dataset& dataset, std::span<const uint32_t> train_nodes);

// The same labels with standardised targets.
Labels StandardisedLabels(const Labels& labels, const Model::TargetScaling& scaling);

// Predictions (nodes × targets) of standardised targets become those of the targets. Does nothing without scaling.
void UndoTargetScaling(const Model::TargetScaling& scaling, Matrix& predicted);

}  // namespace l2gcn
