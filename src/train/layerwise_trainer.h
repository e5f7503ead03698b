// Layer-wise training of a GCN (L-GCN; with a learned StopPolicy, L²-GCN):
//
//   for each layer:  X̂ = Â X  once;  train ReLU(X̂W)Θ in shuffled mini-batches until the policy stops;
//                    X = ReLU(X̂W)  once
//
// Inductive: Â is of the train nodes' subgraph alone, with its own degrees. Transductive: Â is of the whole
// graph, the loss still of the train nodes alone. Labels of other nodes are never read (unless a policy asks
// for the validation score).
#pragma once

#include "l2gcn/train.h"
#include "train/stop_policy.h"

namespace l2gcn {

// The model and what happened in each layer; f1 and evaluation time stay unset. If step_losses is not null,
// the loss of every step of every layer is appended to it. `hops`: each layer aggregates that often (N-GCN's
// powers of Â; 0: not at all). If embeddings is not null it gets the last layer's output of the train nodes,
// in their order.
Trained FitLayerwise(const Context& context, const Dataset& dataset, const Split& split,
                     const TrainConfig& config, StopPolicy& policy,
                     std::vector<double>* step_losses = nullptr, uint32_t hops = 1,
                     Matrix* embeddings = nullptr);

// Nodes of `role` in ascending order.
std::vector<uint32_t> NodesWithRole(const Split& split, Role role);

// Throws Error(kInput) if no node is in the train split; warns of classes without a train node.
void CheckTrainSplit(const Context& context, const Dataset& dataset, const Split& split);

}  // namespace l2gcn
