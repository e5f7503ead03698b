// How far a layer-wise training has come: everything that changes while it runs and cannot be computed again from the
// data set, the configuration and the weights, and how a snapshot keeps it.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/backend.h"
#include "l2gcn/config.h"
#include "l2gcn/train.h"
#include "train/course.h"
#include "train/snapshot.h"
#include "train/validation_probe.h"

namespace l2gcn {

// What a checkpoint between two layers has to keep.
struct LayerwiseProgress {
  Trained trained;           // weights of the layers done, records, seconds
  LayerState previous;       // Θ and its moments from the layer before
  uint32_t epochs_done = 0;  // in all layers before
};

// The same for the layer at hand: with LayerTraining::Read(), what a checkpoint inside a layer has to keep.
struct LayerProgress {
  LayerRecord record;              // epochs, losses, decisions so far
  std::optional<LayerState> best;  // the weights a policy would go back to
  double probability = -1;         // that the layer stops, at the last decision
  double probe_seconds = 0;        // spent scoring
  double seconds_before = 0;       // trained by the process that was cut off
  uint32_t decision_at = 0;        // the epoch of the policy's next decision
  uint32_t scored_epoch = 0;       // the epoch that `score` belongs to; 0: none
  ValidationScore score;
  // Where the rate is found by the program:
  double rate = 0;       // the level it was found at; 0: not yet
  RateCourse course;     // its fall: over the last part of the budget, or as the layer lands
  bool landing = false;  // the layer was told to stop, and its rate falls from the best weights on
};

// What the sizes of a model's matrices follow from.
struct LayerwiseShape {
  const TrainConfig& config;
  size_t features;  // columns of the first layer's input
  size_t copies;    // of a layer's input that stand side by side (LayerPipeline::InputCopies)
  size_t classes;
};

// A snapshot inside `layer`, or at its end. `seconds`: trained in this layer by now. What the stop policy remembers is the
// caller's to add.
Snapshot SnapshotOf(const LayerwiseProgress& progress, const LayerProgress& at_hand, uint32_t layer,
                    const LayerState& state, double seconds, bool finished);

// Fills in everything of a snapshot but the weights of its layer, whose width is known once it is aggregated, and what the
// policy remembers. Returns the layer to go on with. Throws Error(kInput) for a snapshot that is damaged or of another
// model.
uint32_t RestoreProgress(const Snapshot& snapshot, const LayerwiseShape& shape, LayerwiseProgress& progress,
                         LayerProgress& at_hand);

}  // namespace l2gcn
