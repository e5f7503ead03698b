// What every trainer takes from a data set before it starts: targets, feature preparation, the head of the
// model.
#pragma once

#include <span>
#include <vector>

#include "kernels/backend.h"
#include "l2gcn/train.h"

namespace l2gcn {

// How long training may go on without telling its progress or looking for an interruption.
inline constexpr double kSecondsBetweenReports = 0.2;

// Labels of `nodes`, in that order.
Targets TargetsOf(const Labels& labels, std::span<const uint32_t> nodes);

// A result with everything but weights: configuration, shapes, class names, split, seed.
Trained BeginTrained(const Dataset& dataset, const Split& split, const TrainConfig& config);

// Fits scaling and PCA on the train nodes alone, keeps them in the model, and returns the features they make.
Features PrepareFeatures(const Context& context, const Dataset& dataset,
                         std::span<const uint32_t> train_nodes, const TrainConfig& config,
                         Preparation& preparation);

}  // namespace l2gcn
