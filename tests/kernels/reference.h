// The training step and the aggregation written as their formulas, in double precision, one loop after
// another: documentation of what every backend computes, and the oracle its tests compare with. Nothing here
// is fast.
#pragma once

#include <cstdint>
#include <span>
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

// A weight matrix with its moments.
struct Weights {
  Dense value, m, v;

  Weights() = default;
  explicit Weights(const Trainable& from) : value(from.value), m(from.m), v(from.v) {}
  bool empty() const { return value.values.empty(); }
};

// What the rows of an affine make of products y, before ReLU (DenseBlock in kernels/backend.h).
Dense ApplyAffine(const Dense& y, const Dense& affine);

// The same as Layer for a layer that is not basic (core/layer_architecture.h).
struct FormLayer {
  Weights w, affine, head, head_affine, theta, bias;
  uint64_t w_steps = 0, theta_steps = 0, steps = 0;

  explicit FormLayer(const LayerState& start);
  std::vector<double> RunEpoch(const Dense& x, std::span<const uint32_t> samples, const Targets& targets,
                               const LayerSpec& spec, uint32_t epoch);

 private:
  double Step(const Dense& x, std::span<const int32_t> classes, std::span<const uint8_t* const> labels,
              const Targets& targets, const LayerSpec& spec);
};

}  // namespace l2gcn::reference
