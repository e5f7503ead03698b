// Conventional training: all layers at once, back-propagated through the blocks a sampler draws. Networks of
// one linear layer over Âᴷ X and of several stacks over powers of Â with one classifier are special shapes of
// the same network. A method's row in config/methods.h says which sampler and which shape it is.
//
//   for each epoch, for each step:  draw blocks;  forward, backward, Adam;  let the sampler see the
//   activations
//
// A network of L layers has L weight matrices, the last of which produces the logits: it is the model's Θ.
// Inductive and transductive as in layerwise_trainer.h. CPU only.
#pragma once

#include "l2gcn/train.h"
#include "train/snapshot.h"
#include "train/stop_policy.h"
#include "train/training_set.h"

namespace l2gcn {

// If step_losses is not null, the loss of every step is appended to it.
Trained FitConventional(const Context& context, const Dataset& dataset, const SplitNodes& nodes,
                        const TrainConfig& config, StopPolicy& policy,
                        std::vector<double>* step_losses = nullptr, Checkpointer* checkpointer = nullptr);

// N-GCN layer by layer: every network over a power of Â is trained as lgcn is, on its own, with its own
// classifiers; then one classifier is trained over the joined last layers.
Trained FitNgcnLayerwise(const Context& context, const Dataset& dataset, const SplitNodes& nodes,
                         const TrainConfig& config, StopPolicy& policy);

}  // namespace l2gcn
