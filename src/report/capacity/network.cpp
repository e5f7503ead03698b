#include "report/capacity/network.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error_format.h"
#include "core/rng.h"

namespace l2gcn::capacity {
namespace {

constexpr uint32_t kSampleGraphs = 64;  // of a training, drawn once
constexpr double kLearningRate = 0.01, kBeta1 = 0.9, kBeta2 = 0.999, kTiny = 1e-8;
constexpr double kRounding = 1e-20;  // squared differences below this share of the squares are rounding
constexpr double kNarrow = 0.1;      // τ² as a share of the mean squared distance before training

// out += a b, with a (m × k), b (k × n).
void MultiplyAdd(const Dense& a, const Dense& b, Dense& out) {
  for (size_t i = 0; i < a.rows; ++i) {
    double* to = out.row(i);
    for (size_t k = 0; k < a.cols; ++k) {
      const double factor = a.row(i)[k];
      if (factor == 0) continue;
      const double* from = b.row(k);
      for (size_t j = 0; j < b.cols; ++j) to[j] += factor * from[j];
    }
  }
}

double Slope(const std::string& activation, double output) {
  return activation == "relu" ? (output > 0 ? 1.0 : 0.0) : 1 - output * output;
}

// Adam over one flat block of parameters.
class AdamBlock {
 public:
  void Step(std::vector<double>& values, const std::vector<double>& gradient, uint32_t step) {
    mean_.resize(values.size());
    square_.resize(values.size());
    const double correct1 = 1 - std::pow(kBeta1, step), correct2 = 1 - std::pow(kBeta2, step);
    for (size_t i = 0; i < values.size(); ++i) {
      mean_[i] = kBeta1 * mean_[i] + (1 - kBeta1) * gradient[i];
      square_[i] = kBeta2 * square_[i] + (1 - kBeta2) * gradient[i] * gradient[i];
      values[i] -= kLearningRate * (mean_[i] / correct1) / (std::sqrt(square_[i] / correct2) + kTiny);
    }
  }

 private:
  std::vector<double> mean_, square_;
};

// Â X for symmetric A; `transposed` gives Âᵀ X, which differs for the operators that divide by the degree.
Dense Propagate(const GraphSet& set, Operation operation, const Dense& x, bool transposed) {
  Dense out(x.rows, x.cols);
  const bool divides = operation != Operation::kSum;
  const auto share = [&](uint32_t row) { return divides ? 1.0 / (set.Degree(row) + 1.0) : 1.0; };
  for (uint32_t row = 0; row < set.rows(); ++row) {
    double* to = out.row(row);
    const auto add = [&](uint32_t from) {
      const double factor = share(transposed ? from : row);
      for (size_t c = 0; c < x.cols; ++c) to[c] += factor * x.row(from)[c];
    };
    add(row);
    for (uint32_t e = set.start[row]; e < set.start[row + 1]; ++e) add(set.neighbours[e]);
    if (operation != Operation::kRowPlusI) continue;
    for (size_t c = 0; c < x.cols; ++c) to[c] += x.row(row)[c];
  }
  return out;
}

// The smooth probability of confusing two graphs, and its gradient by the node embeddings.
class Confusion {
 public:
  explicit Confusion(const GraphSet& set) : set_(set) {}

  Dense Gradient(const Dense& x) {
    const size_t graphs = set_.graphs.size(), width = x.cols;
    const Dense z = PredictionHead(x);
    if (tau_squared_ == 0) tau_squared_ = kNarrow * MeanSquaredDistance(z);
    const double squares = std::inner_product(z.values.begin(), z.values.end(), z.values.begin(), 0.0);
    if (tau_squared_ <= kRounding * squares / static_cast<double>(graphs)) {
      return Dense(x.rows, width);  // nothing can be told apart: there is nothing to learn
    }
    Dense dz(graphs, width);
    const double pairs = static_cast<double>(graphs) * static_cast<double>(graphs - 1) / 2;
    for (size_t a = 0; a < graphs; ++a) {
      for (size_t b = a + 1; b < graphs; ++b) {
        const double d = SquaredDistance(z.row(a), z.row(b), width);
        const double pull = -std::exp(-d / (2 * tau_squared_)) / tau_squared_ / pairs;
        for (size_t c = 0; c < width; ++c) {
          const double part = pull * (z.row(a)[c] - z.row(b)[c]);
          dz.row(a)[c] += part;
          dz.row(b)[c] -= part;
        }
      }
    }
    Dense dx(x.rows, width);
    for (size_t g = 0; g < graphs; ++g) {
      for (uint32_t row = set_.first[g]; row < set_.first[g + 1]; ++row) {
        for (size_t c = 0; c < width; ++c) dx.row(row)[c] = dz.row(g)[c] / set_.graphs[g].nodes;
      }
    }
    return dx;
  }

 private:
  static double SquaredDistance(const double* a, const double* b, size_t width) {
    double sum = 0;
    for (size_t c = 0; c < width; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
    return sum;
  }
  static double MeanSquaredDistance(const Dense& z) {
    double sum = 0;
    for (size_t g = 1; g < z.rows; ++g) sum += SquaredDistance(z.row(g - 1), z.row(g), z.cols);
    return z.rows > 1 ? sum / static_cast<double>(z.rows - 1) : 1;
  }
  Dense PredictionHead(const Dense& x) const {
    Dense z(set_.graphs.size(), x.cols);
    for (size_t g = 0; g < z.rows; ++g) {
      for (uint32_t row = set_.first[g]; row < set_.first[g + 1]; ++row) {
        for (size_t c = 0; c < x.cols; ++c) z.row(g)[c] += x.row(row)[c] / set_.graphs[g].nodes;
      }
    }
    return z;
  }

  const GraphSet& set_;
  double tau_squared_ = 0;
};

// Mean squared distance of a row from the mean row, at least a twentieth of the rows' mean squared length.
// Where rows differ by rounding alone it is that length itself: rounding must not be blown up to a
// difference.
double SpreadOf(const Dense& s) {
  const auto rows = static_cast<double>(s.rows);
  std::vector<double> mean(s.cols);
  double squares = 0, spread = 0;
  for (size_t row = 0; row < s.rows; ++row) {
    for (size_t k = 0; k < s.cols; ++k) {
      mean[k] += s.row(row)[k] / rows;
      squares += s.row(row)[k] * s.row(row)[k] / rows;
    }
  }
  for (size_t row = 0; row < s.rows; ++row) {
    for (size_t k = 0; k < s.cols; ++k) {
      spread += (s.row(row)[k] - mean[k]) * (s.row(row)[k] - mean[k]) / rows;
    }
  }
  if (spread <= kRounding * squares) return std::max(squares, 1e-12);
  return std::max(spread, 0.05 * squares);
}

// Weights so that every unit's bend lies between two rows of the sample, and outputs are about 1.
NetworkLayer InitialLayer(const Dense& s, const NetworkOptions& options, uint32_t layer) {
  const RandomStream random(options.seed, RandomUse::kInitW, layer, options.width);
  NetworkLayer made{Dense(s.cols, options.width), std::vector<double>(options.width)};
  const double scale = 1.4 / std::sqrt(SpreadOf(s));
  uint64_t drawn = 0;
  const auto normal = [&] { return static_cast<double>(random.Normal(drawn++)); };
  for (double& value : made.w.values) value = scale * normal();
  const RandomStream picks(options.seed, RandomUse::kInitTheta, layer, options.width);
  for (uint32_t unit = 0; unit < options.width; ++unit) {
    const size_t a = picks.Below(3 * unit, s.rows), b = picks.Below(3 * unit + 1, s.rows);
    const double mix = static_cast<double>(picks.Below(3 * unit + 2, uint64_t{1} << 53)) * 0x1p-53;
    for (size_t k = 0; k < s.cols; ++k) {
      made.b[unit] -= made.w.row(k)[unit] * (mix * s.row(a)[k] + (1 - mix) * s.row(b)[k]);
    }
  }
  return made;
}

GraphSet SampleOf(const GraphSet& set, uint64_t seed) {
  const auto count = static_cast<uint32_t>(set.graphs.size());
  const Permutation order(count, RandomStream(seed, RandomUse::kShuffle));
  std::vector<SmallGraph> chosen;
  for (uint32_t i = 0; i < std::min(count, kSampleGraphs); ++i) chosen.push_back(set.graphs[order(i)]);
  return GraphSet(std::move(chosen));
}

// Gradients of one layer from that of its output, which becomes that of its aggregated input.
struct LayerGradient {
  Dense w;
  std::vector<double> b;
};
LayerGradient BackThrough(const NetworkLayer& layer, const std::string& activation, const Dense& s,
                          const Dense& out, Dense& d) {
  for (size_t i = 0; i < d.values.size(); ++i) d.values[i] *= Slope(activation, out.values[i]);
  LayerGradient gradient{Dense(layer.w.rows, layer.w.cols), std::vector<double>(layer.w.cols)};
  for (size_t row = 0; row < s.rows; ++row) {
    for (size_t j = 0; j < d.cols; ++j) gradient.b[j] += d.row(row)[j];
    for (size_t k = 0; k < s.cols; ++k) {
      for (size_t j = 0; j < d.cols; ++j) gradient.w.row(k)[j] += s.row(row)[k] * d.row(row)[j];
    }
  }
  Dense transposed(layer.w.cols, layer.w.rows);
  for (size_t k = 0; k < layer.w.rows; ++k) {
    for (size_t j = 0; j < layer.w.cols; ++j) transposed.row(j)[k] = layer.w.row(k)[j];
  }
  Dense back(s.rows, s.cols);
  MultiplyAdd(d, transposed, back);
  d = std::move(back);
  return gradient;
}

// Trains layers[from …] of a network whose layer `from` reads x.
void Fit(const GraphSet& sample, const NetworkOptions& options, const Dense& x, size_t from,
         std::vector<NetworkLayer>& layers) {
  Confusion confusion(sample);
  std::vector<AdamBlock> weights(layers.size()), biases(layers.size());
  const Dense first = AggregateRows(sample, options.operation, x);
  for (uint32_t step = 1; step <= options.steps; ++step) {
    std::vector<Dense> inputs = {first}, outputs;
    for (size_t l = from; l < layers.size(); ++l) {
      outputs.push_back(ApplyLayer(layers[l], options.activation, inputs.back()));
      if (l + 1 < layers.size()) inputs.push_back(AggregateRows(sample, options.operation, outputs.back()));
    }
    Dense d = confusion.Gradient(outputs.back());
    for (size_t l = layers.size(); l-- > from;) {
      const LayerGradient gradient =
          BackThrough(layers[l], options.activation, inputs[l - from], outputs[l - from], d);
      if (l > from) d = Propagate(sample, options.operation, d, true);
      weights[l].Step(layers[l].w.values, gradient.w.values, step);
      biases[l].Step(layers[l].b, gradient.b, step);
    }
  }
}

}  // namespace

Dense NetworkInput(const GraphSet& set, const std::string& features, uint32_t degrees) {
  if (features != "degree") {
    Dense ones(set.rows(), 1);
    std::fill(ones.values.begin(), ones.values.end(), 1.0);
    return ones;
  }
  Dense units(set.rows(), degrees);
  for (uint32_t row = 0; row < set.rows(); ++row) units.row(row)[set.Degree(row)] = 1;
  return units;
}

Dense AggregateRows(const GraphSet& set, Operation operation, const Dense& x) {
  return Propagate(set, operation, x, false);
}

Dense ApplyLayer(const NetworkLayer& layer, const std::string& activation, const Dense& aggregated) {
  Dense out(aggregated.rows, layer.w.cols);
  for (size_t row = 0; row < out.rows; ++row) std::copy(layer.b.begin(), layer.b.end(), out.row(row));
  MultiplyAdd(aggregated, layer.w, out);
  for (double& value : out.values) value = activation == "relu" ? std::max(value, 0.0) : std::tanh(value);
  return out;
}

std::vector<NetworkLayer> TrainLayers(const GraphSet& set, const NetworkOptions& options, uint32_t degrees) {
  const GraphSet sample = SampleOf(set, options.seed);
  Dense x = NetworkInput(sample, options.features, degrees);
  std::vector<NetworkLayer> layers;
  for (uint32_t l = 0; l < options.layers; ++l) {
    const Dense s = AggregateRows(sample, options.operation, x);
    layers.push_back(InitialLayer(s, options, l));
    Fit(sample, options, x, l, layers);
    x = ApplyLayer(layers.back(), options.activation, s);
  }
  return layers;
}

std::vector<NetworkLayer> TrainWhole(const GraphSet& set, const NetworkOptions& options, uint32_t degrees) {
  const GraphSet sample = SampleOf(set, options.seed);
  const Dense input = NetworkInput(sample, options.features, degrees);
  std::vector<NetworkLayer> layers;
  Dense x = input;
  for (uint32_t l = 0; l < options.layers; ++l) {
    const Dense s = AggregateRows(sample, options.operation, x);
    layers.push_back(InitialLayer(s, options, l));
    x = ApplyLayer(layers.back(), options.activation, s);
  }
  Fit(sample, options, input, 0, layers);
  return layers;
}

Ranking ColoursOfRows(const Dense& x, double tolerance) {
  constexpr uint32_t kProjections = 4;
  Ranking ranking;
  ranking.rank.assign(x.rows, 0);
  ranking.distinct = x.rows > 0 ? 1 : 0;
  std::vector<uint32_t> order(x.rows);
  std::vector<double> value(x.rows);
  for (uint32_t p = 0; p < kProjections; ++p) {
    const RandomStream random(0, RandomUse::kPca, p, static_cast<uint32_t>(x.cols));
    std::vector<double> axis(x.cols);
    for (size_t c = 0; c < x.cols; ++c) axis[c] = static_cast<double>(random.Normal(c));
    double largest = 0;
    for (size_t row = 0; row < x.rows; ++row) {
      value[row] = std::inner_product(axis.begin(), axis.end(), x.row(row), 0.0);
      largest = std::max(largest, std::abs(value[row]));
    }
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      if (ranking.rank[a] != ranking.rank[b]) return ranking.rank[a] < ranking.rank[b];
      return value[a] < value[b];
    });
    std::vector<uint32_t> next(x.rows);
    uint32_t colour = 0;
    for (size_t i = 1; i < order.size(); ++i) {
      const uint32_t a = order[i - 1], b = order[i];
      if (ranking.rank[a] != ranking.rank[b] || value[b] - value[a] > tolerance * std::max(1.0, largest))
        ++colour;
      next[b] = colour;
    }
    ranking.rank = std::move(next);
    ranking.distinct = x.rows > 0 ? colour + 1 : 0;
  }
  return ranking;
}

}  // namespace l2gcn::capacity
