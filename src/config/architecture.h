// The layers that a configuration asks for.
#pragma once

#include "core/layer_architecture.h"
#include "l2gcn/config.h"

namespace l2gcn {

inline LayerArchitecture ArchitectureOf(const TrainConfig& config) {
  return {config.bias, config.layer_norm, config.head, static_cast<float>(config.input_dropout)};
}

// Whether every layer is W and Θ over ÂX alone, as in the paper: then all layers share one classifier.
inline bool HasBasicLayers(const TrainConfig& config) {
  return ArchitectureOf(config).basic() && config.reach == 0;
}

}  // namespace l2gcn
