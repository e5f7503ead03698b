// The layer architecture that a configuration sets.
#pragma once

#include <string>
#include <vector>

#include "config/methods.h"
#include "core/layer_architecture.h"
#include "l2gcn/config.h"

namespace l2gcn {

inline LayerArchitecture ArchitectureOf(const TrainConfig& config) {
  return {config.bias, config.hidden_norm, config.head, static_cast<float>(config.input_dropout)};
}

// The relations that operators are of.
inline std::vector<std::string> OperatorRelations(const TrainConfig& config) {
  return config.relations.empty() ? std::vector<std::string>{kAllEdges} : config.relations;
}
inline size_t OperatorCount(const TrainConfig& config) {
  return OperatorRelations(config).size() * config.adjacency.size();
}

// What the trials of TrainConfig::architecture_trial try in place of the configuration's own operator.
inline std::vector<Adjacency> TrialOperators() { return {Adjacency::kSym, Adjacency::kMean}; }

// The blocks of a layer's input that follow from X: X, then hop by hop one for each operator, Â₁X, Â₂X, Â₁²X, …; without
// self features ÂX alone.
inline size_t BlocksOfHops(const TrainConfig& config) {
  const bool always = FindMethod(config.method).weights == WeightShape::kOwnAndAggregated;
  return config.self_features || always ? 1 + config.hops * OperatorCount(config) : 1;
}

// Columns of the input of layer `layer` (0-based), whose X has `width` columns and which may read the `raw` columns of X⁰.
inline size_t InputColumns(const TrainConfig& config, size_t layer, size_t width, size_t raw) {
  return BlocksOfHops(config) * width + (config.raw_features && layer > 0 ? raw : 0);
}

// Whether every layer is W and Θ over ÂX alone, as in the paper: then all layers share one classifier.
inline bool HasBasicLayers(const TrainConfig& config) {
  return ArchitectureOf(config).basic() && !config.self_features;
}

}  // namespace l2gcn
