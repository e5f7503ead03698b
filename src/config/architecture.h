// The layers that a configuration asks for.
#pragma once

#include "config/methods.h"
#include "core/layer_architecture.h"
#include "l2gcn/config.h"

namespace l2gcn {

inline LayerArchitecture ArchitectureOf(const TrainConfig& config) {
  return {config.bias, config.hidden_norm, config.head, static_cast<float>(config.input_dropout)};
}

// Hops beside the node's own features in a layer's input: X, ÂX, …, Âʰ X; 0: the input is ÂX alone.
inline uint32_t HopsBesideSelf(const TrainConfig& config) {
  const bool always = FindMethod(config.method).weights == WeightShape::kOwnAndAggregated;
  return config.self_features || always ? config.hops : 0;
}

// Whether every layer is W and Θ over ÂX alone, as in the paper: then all layers share one classifier.
inline bool HasBasicLayers(const TrainConfig& config) {
  return ArchitectureOf(config).basic() && !config.self_features;
}

}  // namespace l2gcn
