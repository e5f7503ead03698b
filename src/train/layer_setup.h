// Sets up the training of one layer from the configuration: its constants, initial weights and moments.
#pragma once

#include "config/architecture.h"
#include "kernels/backend.h"
#include "l2gcn/config.h"

namespace l2gcn {

LayerSpec LayerSpecOf(const TrainConfig& config, uint32_t layer);

// New parameters for `inputs` columns; Θ with its moments from `previous` where the configuration keeps it, it still
// fits, and the layer is basic.
LayerState LayerStart(const TrainConfig& config, uint32_t layer, size_t inputs, size_t classes,
                      const LayerState& previous);

}  // namespace l2gcn
