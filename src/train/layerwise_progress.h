// The state of a layer-wise training, and how a snapshot stores it: everything that changes while it runs and cannot be
// recomputed from the data set, the configuration and the weights.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/backend.h"
#include "l2gcn/config.h"
#include "l2gcn/train.h"
#include "train/auto_schedule.h"
#include "train/epoch_loop.h"
#include "train/snapshot.h"

namespace l2gcn {

// The state of a training between two layers.
struct LayerwiseProgress {
  Trained trained;           // weights of the layers done, records, seconds
  LayerState previous;       // Θ and its moments from the layer before
  uint32_t epochs_done = 0;  // in all layers before
};

// The state of the current layer, besides the weights that LayerTraining::Read() returns.
struct LayerProgress {
  EpochProgress epochs;
  std::optional<LayerState> best;  // the weights that the stopping rule would return to
  // Set where the rate is automatic:
  double rate = 0;            // base rate; 0: not yet estimated
  LrSchedule schedule;        // its decay: over the last part of the budget, or the cool-down
  bool cooling_down = false;  // the rule ended the layer, and the rate decays from the best weights on
};

// Determines the sizes of a model's matrices.
struct LayerwiseShape {
  const TrainConfig& config;
  size_t features;  // columns of the first layer's input
  size_t classes;
};

// Adds to a snapshot what a layer-wise training keeps inside `layer`, or at its end, besides EpochProgress and what the
// stopping rule remembers.
void SaveProgress(const LayerwiseProgress& progress, const LayerProgress& current, uint32_t layer,
                  const LayerState& state, bool finished, Snapshot& snapshot);

// Fills in everything of a snapshot but the weights of its layer, whose width is known once it is aggregated, and what the
// stopping rule remembers. Returns the layer to go on with. Throws Error(kInput) for a snapshot that is damaged or of another
// model.
uint32_t RestoreProgress(const Snapshot& snapshot, const LayerwiseShape& shape, LayerwiseProgress& progress,
                         LayerProgress& current);

}  // namespace l2gcn
