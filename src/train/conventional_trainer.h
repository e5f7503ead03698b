// Conventional training: all layers at once, back-propagated through the blocks a sampler draws (gcn,
// minibatch, graphsage, fastgcn, ladies, vrgcn, clustergcn), with sgc (one linear layer over Âᴷ X) and ngcn
// (several networks over powers of Â with one classifier) as special shapes of the same network.
//
//   for each epoch, for each step:  draw blocks;  forward, backward, Adam;  let the sampler see the
//   activations
//
// A network of L layers has L weight matrices, the last of which produces the logits: it is the model's Θ.
// Inductive and transductive as in layerwise_trainer.h. CPU only.
#pragma once

#include "l2gcn/train.h"
#include "train/stop_policy.h"

namespace l2gcn {

// If step_losses is not null, the loss of every step is appended to it.
Trained FitConventional(const Context& context, const Dataset& dataset, const Split& split,
                        const TrainConfig& config, StopPolicy& policy,
                        std::vector<double>* step_losses = nullptr);

// N-GCN layer by layer: every network over a power of Â is trained as lgcn is, on its own, with its own
// classifiers; then one classifier is trained over the joined last layers.
Trained FitNgcnLayerwise(const Context& context, const Dataset& dataset, const Split& split,
                         const TrainConfig& config, StopPolicy& policy);

}  // namespace l2gcn
