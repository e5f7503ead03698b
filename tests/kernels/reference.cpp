#include "kernels/reference.h"

#include <algorithm>
#include <cmath>

#include "core/rng.h"

namespace l2gcn::reference {
namespace {

Dense Transposed(const Dense& x) {
  Dense out(x.cols, x.rows);
  for (size_t i = 0; i < x.rows; ++i)
    for (size_t j = 0; j < x.cols; ++j) out.at(j, i) = x.at(i, j);
  return out;
}

double WeightOf(const Targets& targets, size_t label) {
  return targets.weights.empty() ? 1.0 : double{targets.weights[label]};
}

// Replaces logits by the gradient of the mean loss and returns that mean.
double SoftmaxLoss(Dense& z, std::span<const int32_t> target, const Targets& targets) {
  double loss = 0, all = 0;
  for (int32_t label : target) all += WeightOf(targets, static_cast<size_t>(label));
  for (size_t i = 0; i < z.rows; ++i) {
    double top = z.at(i, 0), sum = 0;
    for (size_t c = 0; c < z.cols; ++c) top = std::max(top, z.at(i, c));
    for (size_t c = 0; c < z.cols; ++c) sum += std::exp(z.at(i, c) - top);
    const double share = WeightOf(targets, static_cast<size_t>(target[i])) / all;
    loss += share * (std::log(sum) - (z.at(i, static_cast<size_t>(target[i])) - top));
    for (size_t c = 0; c < z.cols; ++c) {
      const double probability = std::exp(z.at(i, c) - top) / sum;
      z.at(i, c) = share * (probability - (static_cast<int32_t>(c) == target[i] ? 1 : 0));
    }
  }
  return loss;
}

double SigmoidLoss(Dense& z, std::span<const uint8_t* const> target, const Targets& targets) {
  double loss = 0;
  const double entries = static_cast<double>(z.rows * z.cols);
  for (size_t i = 0; i < z.rows; ++i) {
    for (size_t c = 0; c < z.cols; ++c) {
      const double value = z.at(i, c), y = target[i][c];
      const double weight = y > 0 ? WeightOf(targets, c) : 1;
      loss += weight * (std::log1p(std::exp(-std::abs(value))) + std::max(value, 0.0) - value * y);
      z.at(i, c) = weight * (1 / (1 + std::exp(-value)) - y) / entries;
    }
  }
  return loss / entries;
}

void Adam(const Dense& gradient, Dense& w, Dense& m, Dense& v, uint64_t step, const LayerSpec& spec,
          bool decays = true) {
  const bool l2 = !spec.decoupled_weight_decay;
  const double penalty = decays && l2 ? double{spec.weight_decay} : 0,
               taken = decays && !l2 ? double{spec.lr} * double{spec.weight_decay} : 0;
  const double t = static_cast<double>(step);
  const double bc1 = 1 - std::pow(static_cast<double>(spec.beta1), t);
  const double bc2 = 1 - std::pow(static_cast<double>(spec.beta2), t);
  for (size_t i = 0; i < w.values.size(); ++i) {
    const double g = gradient.values[i] + penalty * w.values[i];
    w.values[i] -= taken * w.values[i];
    m.values[i] = spec.beta1 * m.values[i] + (1 - spec.beta1) * g;
    v.values[i] = spec.beta2 * v.values[i] + (1 - spec.beta2) * g * g;
    w.values[i] -= spec.lr / bc1 * m.values[i] / (std::sqrt(v.values[i] / bc2) + spec.epsilon);
  }
}

}  // namespace

Dense FromFeatures(const Features& features) {
  if (!features.is_sparse()) return Dense(features.ToMatrix(MakeContext(1)));
  const CsrMatrix csr = features.ToCsr(MakeContext(1));
  Dense out(csr.rows, csr.cols);
  for (size_t i = 0; i < csr.rows; ++i)
    for (uint64_t e = csr.indptr[i]; e < csr.indptr[i + 1]; ++e) out.at(i, csr.indices[e]) += csr.values[e];
  return out;
}

Dense Aggregate(const Propagation& a, const Dense& x, std::span<const uint32_t> row_of_node) {
  const auto source = [&](size_t node) { return row_of_node.empty() ? node : row_of_node[node]; };
  Dense out(a.nodes, x.cols);
  for (size_t i = 0; i < a.nodes; ++i) {
    for (size_t c = 0; c < x.cols; ++c) {
      double sum = 0;
      for (uint64_t e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
        const uint32_t j = a.indices[e];
        const double weight = a.weights.empty() ? 1.0 : a.weights[e];
        sum += weight * (a.col_scale.empty() ? 1.0 : a.col_scale[j]) * x.at(source(j), c);
      }
      out.at(i, c) = a.row_scale[i] * sum + a.self_scale[i] * x.at(source(i), c);
    }
  }
  return out;
}

Dense Multiply(const Dense& x, const Dense& w) {
  Dense out(x.rows, w.cols);
  for (size_t i = 0; i < x.rows; ++i)
    for (size_t k = 0; k < x.cols; ++k)
      for (size_t j = 0; j < w.cols; ++j) out.at(i, j) += x.at(i, k) * w.at(k, j);
  return out;
}

Dense Transform(const Dense& x, const Dense& w) {
  Dense out = Multiply(x, w);
  for (double& value : out.values) value = std::max(value, 0.0);
  return out;
}

Layer::Layer(const LayerState& start)
    : w(start["weight"].value),
      w_m(start["weight"].m),
      w_v(start["weight"].v),
      theta(start["classifier"].value),
      theta_m(start["classifier"].m),
      theta_v(start["classifier"].v),
      w_steps(start["weight"].steps),
      theta_steps(start["classifier"].steps) {}

namespace {

struct Batch {
  Dense x;
  std::vector<uint32_t> drawn;  // samples
};

// The batches of an epoch, in order.
std::vector<Batch> BatchesOf(const Dense& x, std::span<const uint32_t> samples, const LayerSpec& spec,
                             uint32_t epoch) {
  const auto count = static_cast<uint32_t>(samples.empty() ? x.rows : samples.size());
  const uint32_t size = std::min(spec.batch, count);
  const uint32_t steps = spec.drop_last ? count / size : (count + size - 1) / size;
  const EpochOrder shuffle = OrderOf(spec, count, x.cols, epoch);
  std::vector<Batch> batches(steps);
  for (uint32_t step = 0; step < steps; ++step) {
    Batch& batch = batches[step];
    const uint32_t begin = step * size, rows = std::min(size, count - begin);
    batch.x = Dense(rows, x.cols);
    for (uint32_t i = 0; i < rows; ++i) {
      const uint32_t sample = shuffle(begin + i), row = samples.empty() ? sample : samples[sample];
      for (size_t k = 0; k < x.cols; ++k) batch.x.at(i, k) = x.at(row, k);
      batch.drawn.push_back(sample);
    }
  }
  return batches;
}

// The spec of one step: with the rate that the schedule leaves there.
LayerSpec SpecAt(LayerSpec spec, uint64_t step, size_t steps_per_epoch) {
  spec.lr *= spec.schedule.InSteps(static_cast<uint32_t>(steps_per_epoch)).Share(step);
  spec.schedule = {};
  return spec;
}

// Means over the entries that are not missing, weighted by node.
double RegressionLoss(Dense& z, std::span<const uint32_t> drawn, const Targets& targets) {
  double loss = 0, terms = 0;
  Dense gradient(z.rows, z.cols);
  for (size_t i = 0; i < z.rows; ++i) {
    const double weight = targets.node_weights.empty() ? 1.0 : double{targets.node_weights[drawn[i]]};
    for (size_t c = 0; c < z.cols; ++c) {
      const double truth = targets.values[drawn[i] * z.cols + c];
      if (std::isnan(truth)) continue;
      const double d = z.at(i, c) - truth, sign = d > 0 ? 1 : d < 0 ? -1 : 0;
      const bool squared = targets.loss == Loss::kSquared, huber = targets.loss == Loss::kHuber;
      loss += weight * (squared            ? d * d
                        : !huber           ? std::abs(d)
                        : std::abs(d) <= 1 ? d * d / 2
                                           : std::abs(d) - 0.5);
      gradient.at(i, c) = weight * (squared ? 2 * d : huber && std::abs(d) <= 1 ? d : sign);
      terms += weight;
    }
  }
  z = gradient;
  for (double& value : z.values) value /= terms;
  return loss / terms;
}

double LossOf(Dense& z, std::span<const uint32_t> drawn, const Targets& targets) {
  if (targets.regression()) return RegressionLoss(z, drawn, targets);
  std::vector<int32_t> classes;
  std::vector<const uint8_t*> labels;
  for (const uint32_t sample : drawn) {
    if (targets.multilabel)
      labels.push_back(targets.matrix.data() + size_t{sample} * targets.classes);
    else
      classes.push_back(targets.classes_of[sample]);
  }
  return targets.multilabel ? SigmoidLoss(z, labels, targets) : SoftmaxLoss(z, classes, targets);
}

}  // namespace

std::vector<double> Layer::RunEpoch(const Dense& x, std::span<const uint32_t> samples, const Targets& targets,
                                    const LayerSpec& given, uint32_t epoch) {
  std::vector<double> losses;
  const std::vector<Batch> batches = BatchesOf(x, samples, given, epoch);
  for (const Batch& batch : batches) {
    const LayerSpec spec = SpecAt(given, steps, batches.size());
    Dense h = Transform(batch.x, w);
    const RandomStream drop(spec.seed, RandomUse::kDropout, spec.layer, static_cast<uint32_t>(steps));
    for (size_t i = 0; spec.dropout > 0 && i < h.values.size(); ++i) {
      h.values[i] =
          drop.Uniform(i) >= spec.dropout ? h.values[i] / (1 - static_cast<double>(spec.dropout)) : 0;
    }
    Dense z = Multiply(h, theta);
    losses.push_back(LossOf(z, batch.drawn, targets));
    Dense dh = Multiply(z, Transposed(theta));
    for (size_t i = 0; i < h.values.size(); ++i) {
      dh.values[i] = h.values[i] > 0 ? dh.values[i] / (1 - static_cast<double>(spec.dropout)) : 0;
    }
    ++steps;
    Adam(Multiply(Transposed(batch.x), dh), w, w_m, w_v, w_steps + steps, spec);
    Adam(Multiply(Transposed(h), z), theta, theta_m, theta_v, theta_steps + steps, spec);
  }
  return losses;
}

// ---- a layer of any architecture ----------------------------------------------------------------------------

namespace {

// y with mean 0 and variance 1 in each group: a row with LayerNorm, a column with batch norm.
struct Normalised {
  bool by_row = true;
  Dense values;
  std::vector<double> mean, variance, inverse;  // one a group

  size_t GroupOf(size_t row, size_t column) const { return by_row ? row : column; }
  double size() const { return static_cast<double>(by_row ? values.cols : values.rows); }
};

Normalised Normalise(const Dense& y, HiddenNorm norm) {
  Normalised out;
  out.by_row = norm == HiddenNorm::kLayer;
  out.values = y;
  const size_t groups = out.by_row ? y.rows : y.cols;
  out.mean.assign(groups, 0);
  out.variance.assign(groups, 0);
  for (size_t i = 0; i < y.rows; ++i)
    for (size_t c = 0; c < y.cols; ++c) out.mean[out.GroupOf(i, c)] += y.at(i, c) / out.size();
  for (size_t i = 0; i < y.rows; ++i)
    for (size_t c = 0; c < y.cols; ++c)
      out.variance[out.GroupOf(i, c)] += std::pow(y.at(i, c) - out.mean[out.GroupOf(i, c)], 2) / out.size();
  for (double variance : out.variance) out.inverse.push_back(1 / std::sqrt(variance + double{kNormEpsilon}));
  for (size_t i = 0; i < y.rows; ++i)
    for (size_t c = 0; c < y.cols; ++c)
      out.values.at(i, c) = (y.at(i, c) - out.mean[out.GroupOf(i, c)]) * out.inverse[out.GroupOf(i, c)];
  return out;
}

// The gradient of y from t, that of the normalised values.
Dense NormaliseGradient(const Normalised& y, const Dense& t) {
  std::vector<double> mean(y.mean.size(), 0.0), slope(y.mean.size(), 0.0);
  for (size_t i = 0; i < t.rows; ++i)
    for (size_t c = 0; c < t.cols; ++c) {
      mean[y.GroupOf(i, c)] += t.at(i, c) / y.size();
      slope[y.GroupOf(i, c)] += t.at(i, c) * y.values.at(i, c) / y.size();
    }
  Dense out(t.rows, t.cols);
  for (size_t i = 0; i < t.rows; ++i)
    for (size_t c = 0; c < t.cols; ++c) {
      const size_t g = y.GroupOf(i, c);
      out.at(i, c) = y.inverse[g] * (t.at(i, c) - mean[g] - y.values.at(i, c) * slope[g]);
    }
  return out;
}

void Drop(const LayerSpec& spec, RandomUse use, uint64_t step, float share, Dense& x) {
  if (share == 0) return;
  const RandomStream stream(spec.seed, use, spec.layer, static_cast<uint32_t>(step));
  for (size_t i = 0; i < x.rows; ++i) {
    for (size_t c = 0; c < x.cols; ++c) {
      const bool drops = DropsColumn(stream.Word(i), static_cast<uint32_t>(c), DropThreshold(share));
      x.at(i, c) = drops ? 0 : x.at(i, c) / (1 - double{share});
    }
  }
}

// Each column times scale plus shift, both (1 × columns) or empty.
Dense ScaleAndShift(Dense y, const Dense& scale, const Dense& shift) {
  for (size_t i = 0; i < y.rows; ++i)
    for (size_t c = 0; c < y.cols; ++c) {
      if (scale.rows > 0) y.at(i, c) *= scale.at(0, c);
      if (shift.rows > 0) y.at(i, c) += shift.at(0, c);
    }
  return y;
}

// (1 × columns) sums of d ∘ y.
Dense ColumnSums(const Dense& d, const Dense& y) {
  Dense sums(1, d.cols);
  for (size_t i = 0; i < d.rows; ++i)
    for (size_t c = 0; c < d.cols; ++c) sums.at(0, c) += d.at(i, c) * y.at(i, c);
  return sums;
}
Dense ColumnSums(const Dense& d) {
  Dense ones = d;
  for (double& value : ones.values) value = 1;
  return ColumnSums(d, ones);
}

// The running statistic after a batch whose own is `of_batch`.
void Follow(const std::vector<double>& of_batch, double factor, Dense& running) {
  constexpr double kShare = 0.1;
  for (size_t c = 0; c < of_batch.size(); ++c)
    running.at(0, c) = (1 - kShare) * running.at(0, c) + kShare * factor * of_batch[c];
}

void Update(const std::string& name, const Dense& gradient, Weights& weights, uint64_t step,
            const LayerSpec& spec) {
  Adam(gradient, weights.value, weights.m, weights.v, step, spec, IsWeight(name));
}

}  // namespace

Dense Shifted(const Dense& y, const HiddenParameters& hidden) {
  switch (hidden.norm()) {
    case HiddenNorm::kNone:
      return ScaleAndShift(y, {}, Dense(hidden.bias));
    case HiddenNorm::kLayer:
      return ScaleAndShift(Normalise(y, HiddenNorm::kLayer).values, Dense(hidden.norm_weight),
                           Dense(hidden.norm_bias));
    case HiddenNorm::kBatch:
      break;
  }
  Dense out = y;
  for (size_t i = 0; i < y.rows; ++i)
    for (size_t c = 0; c < y.cols; ++c)
      out.at(i, c) = (y.at(i, c) - double{hidden.running_mean.values[c]}) /
                     std::sqrt(double{hidden.running_var.values[c]} + double{kNormEpsilon});
  return ScaleAndShift(out, Dense(hidden.norm_weight), Dense(hidden.norm_bias));
}

struct GeneralLayer::Hidden {
  Normalised y;  // products, normalised where there is a norm
  Dense values;  // after ReLU and dropout
};

GeneralLayer::GeneralLayer(const LayerState& start) {
  for (const Parameter& parameter : start.parameters) {
    parameters[parameter.name] = {Dense(parameter.value), Dense(parameter.m), Dense(parameter.v)};
    adam_steps[parameter.name] = parameter.steps;
  }
}

GeneralLayer::Hidden GeneralLayer::Forward(const Dense& x, const std::string& prefix, RandomUse dropout,
                                           const LayerSpec& spec) {
  Hidden hidden;
  const HiddenNorm norm = spec.architecture.norm;
  const Dense products = Multiply(x, Value(prefix + "weight"));
  Dense shift, scale;
  if (norm == HiddenNorm::kNone) {
    hidden.y.values = products;
    if (Has(prefix + "bias")) shift = Value(prefix + "bias");
  } else {
    hidden.y = Normalise(products, norm);
    scale = Value(prefix + "norm.weight"), shift = Value(prefix + "norm.bias");
  }
  if (norm == HiddenNorm::kBatch) {
    const auto rows = static_cast<double>(x.rows);
    Follow(hidden.y.mean, 1, parameters[prefix + "norm.running_mean"].value);
    Follow(hidden.y.variance, rows / std::max(1.0, rows - 1), parameters[prefix + "norm.running_var"].value);
  }
  hidden.values = ScaleAndShift(hidden.y.values, scale, shift);
  for (double& value : hidden.values.values) value = std::max(value, 0.0);
  Drop(spec, dropout, steps, spec.dropout, hidden.values);
  return hidden;
}

void GeneralLayer::Backward(const Dense& x, const std::string& prefix, const Hidden& hidden, Dense d,
                            const LayerSpec& spec, Dense& products,
                            std::map<std::string, Dense>& gradients) const {
  // ReLU and dropout left zeros.
  for (size_t i = 0; i < d.values.size(); ++i)
    d.values[i] = hidden.values.values[i] > 0 ? d.values[i] / (1 - double{spec.dropout}) : 0;
  products = d;
  if (spec.architecture.norm != HiddenNorm::kNone) {
    gradients[prefix + "norm.weight"] = ColumnSums(d, hidden.y.values);
    gradients[prefix + "norm.bias"] = ColumnSums(d);
    products = NormaliseGradient(hidden.y, ScaleAndShift(d, Value(prefix + "norm.weight"), {}));
  } else if (Has(prefix + "bias")) {
    gradients[prefix + "bias"] = ColumnSums(d);
  }
  gradients[prefix + "weight"] = Multiply(Transposed(x), products);
}

double GeneralLayer::Step(const Dense& x, std::span<const uint32_t> drawn, const Targets& targets,
                          const LayerSpec& spec) {
  Dense xb = x;
  Drop(spec, RandomUse::kInputDropout, steps, spec.architecture.input_dropout, xb);
  const bool has_head = spec.architecture.head > 0;
  const Hidden first = Forward(xb, "", RandomUse::kDropout, spec);
  const Hidden head = has_head ? Forward(first.values, "head.", RandomUse::kHeadDropout, spec) : Hidden();
  const Hidden& last = has_head ? head : first;
  Dense z = Multiply(last.values, Value("classifier"));
  if (Has("classifier.bias")) z = ScaleAndShift(z, {}, Value("classifier.bias"));
  const double loss = LossOf(z, drawn, targets);

  std::map<std::string, Dense> gradients;
  gradients["classifier"] = Multiply(Transposed(last.values), z);
  if (Has("classifier.bias")) gradients["classifier.bias"] = ColumnSums(z);
  Dense d = Multiply(z, Transposed(Value("classifier"))), products;
  if (has_head) {
    Backward(first.values, "head.", head, d, spec, products, gradients);
    d = Multiply(products, Transposed(Value("head.weight")));
  }
  Backward(xb, "", first, d, spec, products, gradients);
  ++steps;
  for (const auto& [name, gradient] : gradients)
    Update(name, gradient, parameters[name], adam_steps[name] + steps, spec);
  return loss;
}

std::vector<double> GeneralLayer::RunEpoch(const Dense& x, std::span<const uint32_t> samples,
                                           const Targets& targets, const LayerSpec& spec, uint32_t epoch) {
  std::vector<double> losses;
  const std::vector<Batch> batches = BatchesOf(x, samples, spec, epoch);
  for (const Batch& batch : batches) {
    const LayerSpec now = SpecAt(spec, steps, batches.size());
    losses.push_back(Step(batch.x, batch.drawn, targets, now));
  }
  return losses;
}

}  // namespace l2gcn::reference
