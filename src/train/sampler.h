// How a conventional method draws the blocks of a step. One sampler a method; each file in samplers/ opens
// with what it draws, how it weighs it and what that estimates.
//
// Every draw is a pure function of (seed, layer, step, position), so a training replays exactly, on any
// number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/propagation.h"
#include "core/rng.h"
#include "l2gcn/config.h"
#include "l2gcn/context.h"
#include "l2gcn/graph.h"
#include "train/block.h"

namespace l2gcn {

class BlockNetwork;
struct Snapshot;

// What is sampled: the graph in training, its Â, and the nodes whose loss counts.
struct SamplingProblem {
  Graph graph;
  Propagation a;                     // the operator of `graph`
  std::vector<uint32_t> loss_nodes;  // ascending
  uint32_t layers = 2;               // how many the network has
  bool precomputed = false;          // layer 1 reads rows of Â X: it needs no block
  bool prediction_head = false;  // a classifier without an operator follows the layers (full batches alone)
};

class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual uint32_t StepsPerEpoch() const = 0;
  // The blocks of step `step` of epoch `epoch`; valid until the next call.
  virtual const MiniBatch& Draw(const Context& context, uint32_t epoch, uint32_t step) = 0;
  // After the step: activations of the nodes it touched, for samplers that remember them.
  virtual void Observe(const Context&, const MiniBatch&, const BlockNetwork&) {}
  // Memory kept from step to step besides the graph: histories, distributions.
  virtual uint64_t StateBytes() const { return 0; }
  // What it remembers of earlier steps, so that a training can go on.
  virtual void Save(Snapshot&) const {}
  virtual void Restore(const Snapshot&) {}
};

// The sampler of config.method: the maker in the method's row (config/methods.h). Throws Error(kUsage) for a
// method without a sampler and for settings that the method or this build cannot serve; the problem must
// outlive the sampler.
std::unique_ptr<Sampler> MakeSampler(const Context& context, const SamplingProblem& problem,
                                     const TrainConfig& config);

// Shuffled mini-batches of the loss nodes with all their neighbours. Beside method minibatch, the classifiers
// of N-GCN's layer-wise form train on them.
std::unique_ptr<Sampler> MakeMinibatchSampler(const Context& context, const SamplingProblem& problem,
                                              const TrainConfig& config);

}  // namespace l2gcn
