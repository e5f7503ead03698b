// Small graph networks in float64, trained to tell graphs apart, layer by layer or from end to end.
//
//   X⁽ˡ⁾ = σ(Â X⁽ˡ⁻¹⁾ W⁽ˡ⁾ + b⁽ˡ⁾),   Â = A + I, D⁻¹(A+I) or D⁻¹(A+I) + I,   σ = ReLU or tanh
//
// The paper trains for capacity, the probability that two graphs get different embeddings. Its smooth form is
// minimised here: the mean over pairs of a batch of exp(−‖z_G − z_H‖² / 2τ²), where z_G is the mean of the
// graph's node embeddings. Layer-wise training fits one layer at a time on frozen inputs; end-to-end training
// fits all layers by back-propagation. Plain loops on one thread: the same bits wherever they run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/capacity/refinement.h"

namespace l2gcn::capacity {

struct NetworkOptions {
  Operation operation = Operation::kSum;
  std::string features = "constant";
  std::string activation = "relu";
  uint32_t width = 64;
  uint32_t layers = 5;
  uint32_t steps = 60;
  uint64_t seed = 0;
};

// Row-major (rows × cols).
struct Dense {
  size_t rows = 0, cols = 0;
  std::vector<double> values;
  Dense() = default;
  Dense(size_t r, size_t c) : rows(r), cols(c), values(r * c, 0.0) {}
  double* row(size_t i) { return values.data() + i * cols; }
  const double* row(size_t i) const { return values.data() + i * cols; }
};

struct NetworkLayer {
  Dense w;                // (inputs × width)
  std::vector<double> b;  // (width)
};

// One column of ones, or the degree as a unit vector of `degrees` columns.
Dense NetworkInput(const GraphSet& set, const std::string& features, uint32_t degrees);
Dense AggregateRows(const GraphSet& set, Operation operation, const Dense& x);
Dense ApplyLayer(const NetworkLayer& layer, const std::string& activation, const Dense& aggregated);

// Trained on a sample of `set`. Layer-wise: one network, whose first d layers are the network of depth d.
std::vector<NetworkLayer> TrainLayers(const GraphSet& set, const NetworkOptions& options, uint32_t degrees);
// From end to end, of options.layers layers.
std::vector<NetworkLayer> TrainWhole(const GraphSet& set, const NetworkOptions& options, uint32_t degrees);

// Colours for rows that agree within `tolerance` times the largest value (at least 1): rows are split at gaps
// of several random projections, one inside the parts of the other.
Ranking ColoursOfRows(const Dense& x, double tolerance);

}  // namespace l2gcn::capacity
