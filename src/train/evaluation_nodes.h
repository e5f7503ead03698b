// Chooses the nodes that a stopping rule evaluates while a layer trains: a sample of the validation nodes, or train nodes that
// the steps leave out (held_out.h). Also chooses how often, so that evaluation takes a small share of the training time.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backend.h"
#include "l2gcn/config.h"
#include "l2gcn/dataset.h"
#include "train/training_set.h"

namespace l2gcn {

struct EvaluationNodes {
  std::vector<uint32_t> validation;    // places among the labelled validation nodes, ascending; or
  std::vector<uint32_t> held, others;  // places in SplitNodes::train: those held out, and those that train

  size_t count() const { return held.empty() ? validation.size() : held.size(); }
};

// Drawn with the run's seed. Throws Error(kInput) where there are none.
EvaluationNodes ChooseEvaluationNodes(const TrainConfig& config, const Dataset& dataset,
                                      const SplitNodes& nodes);

// Epochs that training should last between two evaluations. Steps draw from `trained` nodes; the layer's input is X̂, and
// `hidden` values are followed by `head` more, or none.
uint32_t EpochsBetweenEvaluations(const EvaluationNodes& nodes, size_t trained, const LayerInput& xhat,
                                  uint32_t hidden, uint32_t head);

}  // namespace l2gcn
