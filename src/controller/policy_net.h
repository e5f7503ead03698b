// The recurrent stop-or-go policy: an LSTM cell over a short input, and a linear decoder of two outputs (go,
// stop) under a softmax. Both kinds of controller are this net; they differ in sizes:
//
//   paper     one decoder per decision step, and a learned embedding of (step, last action) as part of the input
//   general   one decoder for all steps and no embedding, so any number of layers and epochs
//
// Doubles throughout: the net has a few hundred weights, and its gradients are checked by finite differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/rng.h"

namespace l2gcn {

struct PolicyShape {
  uint32_t features = 0;         // numbers the caller gives each step
  uint32_t embedding_width = 0;  // appended to them
  uint32_t embeddings = 0;       // rows of the embedding table
  uint32_t hidden = 8;
  uint32_t decoders = 1;

  uint32_t inputs() const { return features + embedding_width; }
  size_t gate_weights() const { return size_t{4} * hidden * (inputs() + hidden + 1); }  // incl. biases
  size_t decoder_weights() const { return size_t{decoders} * 2 * (hidden + 1); }
  size_t embedding_weights() const { return size_t{embeddings} * embedding_width; }
  size_t size() const { return gate_weights() + decoder_weights() + embedding_weights(); }
};

class PolicyNet {
 public:
  // What one step needs for its backward pass.
  struct Step {
    std::vector<double> input;               // (inputs)
    std::vector<double> h_before, c_before;  // (hidden)
    std::vector<double> gates;       // (4 × hidden) input, forget, cell, output after their nonlinearity
    std::vector<double> c, h;        // (hidden)
    double probability[2] = {0, 0};  // go, stop
    uint32_t embedding = 0, decoder = 0;
    int action = 0;
    bool chosen =
        true;  // false: forced (the budget ended, or nothing is learned yet), so its probability earns nothing
  };

  PolicyNet() = default;
  PolicyNet(const PolicyShape& shape, const RandomStream& stream);
  PolicyNet(const PolicyShape& shape, std::vector<double> weights);

  const PolicyShape& shape() const { return shape_; }
  const std::vector<double>& weights() const { return weights_; }
  std::vector<double>& mutable_weights() { return weights_; }

  // One decision; `before` is the step before it in the episode, or null. Rows out of range use the last one.
  Step Decide(const Step* before, std::span<const double> features, uint32_t embedding,
              uint32_t decoder) const;

  // Adds scale · ∂(Σ log probability of the actions taken)/∂weights to gradient (size), and
  // entropy · ∂(Σ entropy of the decisions)/∂weights.
  void AccumulateGradient(const std::vector<Step>& episode, double scale, double entropy,
                          std::vector<double>& gradient) const;

 private:
  PolicyShape shape_;
  // gates (4·hidden × (inputs + hidden + 1)), decoders (decoders × 2 × (hidden + 1)), embeddings
  std::vector<double> weights_;
};

// Adam over a flat vector, minimising.
struct FlatAdam {
  double lr = 0.05, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  uint64_t steps = 0;
  std::vector<double> m, v;

  void Update(std::vector<double>& weights, const std::vector<double>& gradient);
};

}  // namespace l2gcn
