// Layer-wise training of a GCN (L-GCN; with a learned StopPolicy, L²-GCN):
//
//   for each layer:  X̂ = Â X  once;  train ReLU(X̂W)Θ in shuffled mini-batches until the policy stops;
//                    X = ReLU(X̂W)  once
//
// Inductive: Â is that of the train nodes' subgraph alone, with its own degrees. Transductive: Â is that of
// the whole graph, and the loss is still that of the train nodes alone. Labels of other nodes are never read
// (unless a policy asks for the validation score).
#pragma once

#include <memory>
#include <vector>

#include "l2gcn/train.h"
#include "pipeline/layer_pipeline.h"
#include "train/auto_schedule.h"
#include "train/snapshot.h"
#include "train/stop_policy.h"
#include "train/training_set.h"

namespace l2gcn {

// What a caller may want beside the model.
struct LayerwiseOptions {
  std::vector<double>* step_losses = nullptr;  // gets the loss of every step of every layer, in order
  uint32_t hops = 1;             // how often each layer aggregates: N-GCN's power of Â; 0: not at all
  Matrix* embeddings = nullptr;  // gets the last layer's output of the train nodes, in their order
  Checkpointer* checkpointer =
      nullptr;            // keeps snapshots, and may have one to go on from; not with embeddings
  AutoSchedule schedule;  // where the rate is found (--lr auto)
  std::shared_ptr<LayerPipeline> pipeline;  // made for these nodes and this data set; null: a new one
};

// The model and what happened in each layer; f1 and evaluation time stay unset.
Trained FitLayerwise(const Context& context, const Dataset& dataset, const SplitNodes& nodes,
                     const TrainConfig& config, StopPolicy& policy, const LayerwiseOptions& options = {});

}  // namespace l2gcn
