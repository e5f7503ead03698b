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

void Adam(const Dense& gradient, Dense& w, Dense& m, Dense& v, uint64_t step, const LayerSpec& spec) {
  const double t = static_cast<double>(step);
  const double bc1 = 1 - std::pow(static_cast<double>(spec.beta1), t);
  const double bc2 = 1 - std::pow(static_cast<double>(spec.beta2), t);
  for (size_t i = 0; i < w.values.size(); ++i) {
    const double g = gradient.values[i] + spec.weight_decay * w.values[i];
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
    : w(start.w),
      w_m(start.w_m),
      w_v(start.w_v),
      theta(start.theta),
      theta_m(start.theta_m),
      theta_v(start.theta_v),
      w_steps(start.w_steps),
      theta_steps(start.theta_steps) {}

namespace {

struct Batch {
  Dense x;
  std::vector<int32_t> classes;        // unless multilabel
  std::vector<const uint8_t*> labels;  // if multilabel
};

// The batches of an epoch, in order.
std::vector<Batch> BatchesOf(const Dense& x, std::span<const uint32_t> samples, const Targets& targets,
                             const LayerSpec& spec, uint32_t epoch) {
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
      if (targets.multilabel)
        batch.labels.push_back(targets.matrix.data() + size_t{sample} * targets.classes);
      else
        batch.classes.push_back(targets.classes_of[sample]);
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

double LossOf(Dense& z, std::span<const int32_t> classes, std::span<const uint8_t* const> labels,
              const Targets& targets) {
  return targets.multilabel ? SigmoidLoss(z, labels, targets) : SoftmaxLoss(z, classes, targets);
}

}  // namespace

std::vector<double> Layer::RunEpoch(const Dense& x, std::span<const uint32_t> samples, const Targets& targets,
                                    const LayerSpec& given, uint32_t epoch) {
  std::vector<double> losses;
  const std::vector<Batch> batches = BatchesOf(x, samples, targets, given, epoch);
  for (const Batch& batch : batches) {
    const LayerSpec spec = SpecAt(given, steps, batches.size());
    Dense h = Transform(batch.x, w);
    const RandomStream drop(spec.seed, RandomUse::kDropout, spec.layer, static_cast<uint32_t>(steps));
    for (size_t i = 0; spec.dropout > 0 && i < h.values.size(); ++i) {
      h.values[i] =
          drop.Uniform(i) >= spec.dropout ? h.values[i] / (1 - static_cast<double>(spec.dropout)) : 0;
    }
    Dense z = Multiply(h, theta);
    losses.push_back(LossOf(z, batch.classes, batch.labels, targets));
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

// ---- a layer that is not basic ------------------------------------------------------------------------------

namespace {

struct RowMoments {
  double mean = 0, inverse = 0;
};

RowMoments MomentsOf(const Dense& y, size_t row) {
  RowMoments moments;
  double variance = 0;
  for (size_t c = 0; c < y.cols; ++c) moments.mean += y.at(row, c) / static_cast<double>(y.cols);
  for (size_t c = 0; c < y.cols; ++c)
    variance += std::pow(y.at(row, c) - moments.mean, 2) / static_cast<double>(y.cols);
  moments.inverse = 1 / std::sqrt(variance + double{kNormEpsilon});
  return moments;
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

Dense Positive(Dense x) {
  for (double& value : x.values) value = std::max(value, 0.0);
  return x;
}

// From d, the gradient of what the affine made of y, the gradients of the affine and of y.
Dense AffineGradient(const Dense& y, const Dense& affine, const Dense& d, Dense& gradient) {
  gradient = Dense(affine.rows, affine.cols);
  if (affine.rows == 0) return d;
  for (size_t i = 0; i < d.rows; ++i) {
    for (size_t c = 0; c < d.cols; ++c) gradient.at(affine.rows - 1, c) += d.at(i, c);
  }
  if (affine.rows == 1) return d;
  Dense dy(y.rows, y.cols);
  for (size_t i = 0; i < y.rows; ++i) {
    const RowMoments moments = MomentsOf(y, i);
    double mean = 0, slope = 0;
    for (size_t c = 0; c < y.cols; ++c) {
      const double normal = (y.at(i, c) - moments.mean) * moments.inverse, t = d.at(i, c) * affine.at(0, c);
      gradient.at(0, c) += d.at(i, c) * normal;
      mean += t / static_cast<double>(y.cols);
      slope += t * normal / static_cast<double>(y.cols);
    }
    for (size_t c = 0; c < y.cols; ++c) {
      const double normal = (y.at(i, c) - moments.mean) * moments.inverse;
      dy.at(i, c) = moments.inverse * (d.at(i, c) * affine.at(0, c) - mean - normal * slope);
    }
  }
  return dy;
}

// d ← the gradient before ReLU and dropout, which left zeros in h.
void Masked(const Dense& h, double share, Dense& d) {
  for (size_t i = 0; i < d.values.size(); ++i) d.values[i] = h.values[i] > 0 ? d.values[i] / (1 - share) : 0;
}

void Update(const Dense& gradient, Weights& weights, uint64_t step, const LayerSpec& spec, bool decays) {
  if (weights.empty()) return;
  LayerSpec apart = spec;
  apart.weight_decay = 0;
  if (decays) {
    for (double& value : weights.value.values) value -= double{spec.lr} * double{spec.weight_decay} * value;
  }
  Adam(gradient, weights.value, weights.m, weights.v, step, apart);
}

}  // namespace

Dense ApplyAffine(const Dense& y, const Dense& affine) {
  Dense out = y;
  for (size_t i = 0; i < y.rows && affine.rows > 0; ++i) {
    const RowMoments moments = affine.rows == 2 ? MomentsOf(y, i) : RowMoments{0, 1};
    for (size_t c = 0; c < y.cols; ++c) {
      const double normal = (y.at(i, c) - moments.mean) * moments.inverse;
      out.at(i, c) = affine.rows == 2 ? normal * affine.at(0, c) + affine.at(1, c) : normal + affine.at(0, c);
    }
  }
  return out;
}

FormLayer::FormLayer(const LayerState& start)
    : w(Trainable{start.w, start.w_m, start.w_v}),
      affine(start.affine),
      head(start.head),
      head_affine(start.head_affine),
      theta(Trainable{start.theta, start.theta_m, start.theta_v}),
      bias(start.bias),
      w_steps(start.w_steps),
      theta_steps(start.theta_steps) {}

double FormLayer::Step(const Dense& x, std::span<const int32_t> classes,
                       std::span<const uint8_t* const> labels, const Targets& targets,
                       const LayerSpec& spec) {
  Dense xb = x;
  Drop(spec, RandomUse::kInputDropout, steps, spec.architecture.input_dropout, xb);
  const Dense y = Multiply(xb, w.value);
  Dense h = Positive(ApplyAffine(y, affine.value));
  Drop(spec, RandomUse::kDropout, steps, spec.dropout, h);
  Dense y2, h2;
  if (!head.empty()) {
    y2 = Multiply(h, head.value);
    h2 = Positive(ApplyAffine(y2, head_affine.value));
    Drop(spec, RandomUse::kHeadDropout, steps, spec.dropout, h2);
  }
  const Dense& last = head.empty() ? h : h2;
  Dense z = Multiply(last, theta.value);
  for (size_t i = 0; i < z.rows && !bias.empty(); ++i)
    for (size_t c = 0; c < z.cols; ++c) z.at(i, c) += bias.value.at(0, c);
  const double loss = LossOf(z, classes, labels, targets);

  ++steps;
  Dense d = Multiply(z, Transposed(theta.value)), gradient, bias_gradient(1, z.cols);
  for (size_t i = 0; i < z.rows; ++i)
    for (size_t c = 0; c < z.cols; ++c) bias_gradient.at(0, c) += z.at(i, c);
  const Dense theta_gradient = Multiply(Transposed(last), z);
  Masked(last, spec.dropout, d);
  const uint64_t t = theta_steps + steps;
  if (!head.empty()) {
    const Dense dy2 = AffineGradient(y2, head_affine.value, d, gradient);
    d = Multiply(dy2, Transposed(head.value));
    Masked(h, spec.dropout, d);
    Update(gradient, head_affine, t, spec, false);
    Update(Multiply(Transposed(h), dy2), head, t, spec, true);
  }
  const Dense dy = AffineGradient(y, affine.value, d, gradient);
  Update(gradient, affine, t, spec, false);
  Update(Multiply(Transposed(xb), dy), w, w_steps + steps, spec, true);
  Update(theta_gradient, theta, t, spec, true);
  Update(bias_gradient, bias, t, spec, false);
  return loss;
}

std::vector<double> FormLayer::RunEpoch(const Dense& x, std::span<const uint32_t> samples,
                                        const Targets& targets, const LayerSpec& spec, uint32_t epoch) {
  std::vector<double> losses;
  const std::vector<Batch> batches = BatchesOf(x, samples, targets, spec, epoch);
  for (const Batch& batch : batches) {
    const LayerSpec now = SpecAt(spec, steps, batches.size());
    losses.push_back(Step(batch.x, batch.classes, batch.labels, targets, now));
  }
  return losses;
}

}  // namespace l2gcn::reference
