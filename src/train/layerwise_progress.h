// How far a layer-wise training has come: everything that changes while it runs and cannot be computed again from the
// data set, the configuration and the weights, and how a snapshot keeps it.
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

// What a checkpoint between two layers has to keep.
struct LayerwiseProgress {
  Trained trained;           // weights of the layers done, records, seconds
  LayerState previous;       // Θ and its moments from the layer before
  uint32_t epochs_done = 0;  // in all layers before
};

// The same for the current layer: with LayerTraining::Read(), what a checkpoint inside a layer has to keep.
struct LayerProgress {
  EpochProgress epochs;
  std::optional<LayerState> best;  // the weights that the stopping rule would return to
  // Of an automatic rate:
  double rate = 0;            // base rate; 0: not yet estimated
  LrSchedule schedule;        // its decay: over the last part of the budget, or the cool-down
  bool cooling_down = false;  // the rule ended the layer, and the rate falls from the best weights on
};

// What the sizes of a model's matrices follow from.
struct LayerwiseShape {
  const TrainConfig& config;
  size_t features;  // columns of the first layer's input
  size_t blocks;    // of a layer's input (LayerPipeline::InputBlocks)
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
