// The inputs that every trainer takes from a data set: the nodes of each part of the split, targets, and the head of the
// model.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/backend.h"
#include "l2gcn/train.h"

namespace l2gcn {

// The longest time between two progress reports or checks for an interruption.
inline constexpr double kSecondsBetweenReports = 0.2;

// The nodes of `role` in ascending order.
std::vector<uint32_t> NodesWithRole(const Split& split, Role role);

// A split with its nodes listed. A run resolves its split and lists the nodes once, here.
struct SplitNodes {
  SplitNodes(Split of);  // NOLINT: a Split is meant to serve wherever its nodes are asked for
  Split split;
  std::vector<uint32_t> train, val;  // ascending
};

// Throws Error(kInput) if no node is in the train split; warns of classes without a train node.
void CheckTrainSplit(const Context& context, const Dataset& dataset, const SplitNodes& nodes);

// Labels of `nodes`, in that order. `loss` is that of a regression.
Targets TargetsOf(const Labels& labels, std::span<const uint32_t> nodes, Loss loss = Loss::kSquared);

class LayerPipeline;

// What a trainer returns. The pipeline has the device and the prepared features, so that evaluation need not prepare them
// again; it holds their memory.
struct TrainedSeed {
  Trained trained;
  std::shared_ptr<LayerPipeline> pipeline;
};

// A result with everything but weights: configuration, shapes, class names, split, seed.
Trained BeginTrained(const Dataset& dataset, const Split& split, const TrainConfig& config);

// What a display may show of layer `layer` (1-based) besides its present state: losses, decisions and the
// latest score of the validation nodes in that layer.
void LogHistory(const SeedResult::Layer& record, uint32_t layer,
                std::span<const SeedResult::ValidationPoint> validation, Progress& progress);

}  // namespace l2gcn
