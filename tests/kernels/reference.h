// The training step and the aggregation written as their formulas, in double precision, one loop after
// another: documentation of what every backend computes, and the reference that tests compare with. It is not
// optimised.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/propagation.h"
#include "kernels/backend.h"

namespace l2gcn::reference {

// Row-major matrix of doubles.
struct Dense {
  size_t rows = 0, cols = 0;
  std::vector<double> values;

  Dense() = default;
  Dense(size_t r, size_t c) : rows(r), cols(c), values(r * c, 0.0) {}
  explicit Dense(const Matrix& from)
      : rows(from.rows), cols(from.cols), values(from.values.begin(), from.values.end()) {}
  double& at(size_t i, size_t j) { return values[i * cols + j]; }
  double at(size_t i, size_t j) const { return values[i * cols + j]; }
};

Dense FromFeatures(const Features& features);
Dense Aggregate(const Propagation& a, const Dense& x, std::span<const uint32_t> row_of_node);
Dense Transform(const Dense& x, const Dense& w);  // ReLU(x w)
Dense Multiply(const Dense& x, const Dense& w);

// Weights and moments of one layer in training, and the same epochs a backend's LayerTraining runs.
struct Layer {
  Dense w, w_m, w_v, theta, theta_m, theta_v;
  uint64_t w_steps = 0, theta_steps = 0, steps = 0;

  explicit Layer(const LayerState& start);
  // Loss of every step of the epoch.
  std::vector<double> RunEpoch(const Dense& x, std::span<const uint32_t> samples, const Targets& targets,
                               const LayerSpec& spec, uint32_t epoch);
};

// A parameter with its moments.
struct Weights {
  Dense value, m, v;
};

// Products y after the bias or the norm that a layer predicts with, before ReLU.
Dense Shifted(const Dense& y, const HiddenParameters& hidden);

// The same as Layer for any architecture (core/layer_parameters.h).
struct GeneralLayer {
  std::map<std::string, Weights> parameters;
  std::map<std::string, uint64_t> adam_steps;
  uint64_t steps = 0;

  explicit GeneralLayer(const LayerState& start);
  std::vector<double> RunEpoch(const Dense& x, std::span<const uint32_t> samples, const Targets& targets,
                               const LayerSpec& spec, uint32_t epoch);

 private:
  struct Hidden;  // one batch's values of a hidden layer
  bool Has(const std::string& name) const { return parameters.count(name) > 0; }
  const Dense& Value(const std::string& name) const { return parameters.at(name).value; }
  Hidden Forward(const Dense& x, const std::string& prefix, RandomUse dropout, const LayerSpec& spec);
  // From d, the gradient of a layer's values: `products` becomes that of its products. Adds those of its parameters.
  void Backward(const Dense& x, const std::string& prefix, const Hidden& hidden, Dense d,
                const LayerSpec& spec, Dense& products, std::map<std::string, Dense>& gradients) const;
  double Step(const Dense& x, std::span<const uint32_t> drawn, const Targets& targets, const LayerSpec& spec);
};

}  // namespace l2gcn::reference
