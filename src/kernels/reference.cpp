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

// Replaces logits by the gradient of the mean loss and returns that mean.
double SoftmaxLoss(Dense& z, std::span<const int32_t> target) {
  double loss = 0;
  for (size_t i = 0; i < z.rows; ++i) {
    double top = z.at(i, 0), sum = 0;
    for (size_t c = 0; c < z.cols; ++c) top = std::max(top, z.at(i, c));
    for (size_t c = 0; c < z.cols; ++c) sum += std::exp(z.at(i, c) - top);
    loss += std::log(sum) - (z.at(i, static_cast<size_t>(target[i])) - top);
    for (size_t c = 0; c < z.cols; ++c) {
      const double probability = std::exp(z.at(i, c) - top) / sum;
      z.at(i, c) =
          (probability - (static_cast<int32_t>(c) == target[i] ? 1 : 0)) / static_cast<double>(z.rows);
    }
  }
  return loss / static_cast<double>(z.rows);
}

double SigmoidLoss(Dense& z, std::span<const uint8_t* const> target) {
  double loss = 0;
  const double entries = static_cast<double>(z.rows * z.cols);
  for (size_t i = 0; i < z.rows; ++i) {
    for (size_t c = 0; c < z.cols; ++c) {
      const double value = z.at(i, c), y = target[i][c];
      loss += std::log1p(std::exp(-std::abs(value))) + std::max(value, 0.0) - value * y;
      z.at(i, c) = (1 / (1 + std::exp(-value)) - y) / entries;
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

std::vector<double> Layer::RunEpoch(const Dense& x, std::span<const uint32_t> samples, const Targets& targets,
                                    const LayerSpec& spec, uint32_t epoch) {
  const auto count = static_cast<uint32_t>(samples.empty() ? x.rows : samples.size());
  const uint32_t batch = std::min(spec.batch, count);
  const uint32_t step_count = spec.drop_last ? count / batch : (count + batch - 1) / batch;
  const Permutation shuffle(count, RandomStream(spec.seed, RandomUse::kShuffle, spec.layer, epoch));
  std::vector<double> losses;
  for (uint32_t step = 0; step < step_count; ++step) {
    const uint32_t begin = step * batch, size = std::min(batch, count - begin);
    Dense xb(size, x.cols);
    std::vector<int32_t> classes;
    std::vector<const uint8_t*> labels;
    for (uint32_t i = 0; i < size; ++i) {
      const uint32_t sample = shuffle(begin + i), row = samples.empty() ? sample : samples[sample];
      for (size_t k = 0; k < x.cols; ++k) xb.at(i, k) = x.at(row, k);
      if (targets.multilabel)
        labels.push_back(targets.matrix.data() + size_t{sample} * targets.classes);
      else
        classes.push_back(targets.classes_of[sample]);
    }
    Dense h = Transform(xb, w);
    const RandomStream drop(spec.seed, RandomUse::kDropout, spec.layer, static_cast<uint32_t>(steps));
    for (size_t i = 0; spec.dropout > 0 && i < h.values.size(); ++i) {
      h.values[i] =
          drop.Uniform(i) >= spec.dropout ? h.values[i] / (1 - static_cast<double>(spec.dropout)) : 0;
    }
    Dense z = Multiply(h, theta);
    losses.push_back(targets.multilabel ? SigmoidLoss(z, labels) : SoftmaxLoss(z, classes));
    Dense dh = Multiply(z, Transposed(theta));
    for (size_t i = 0; i < h.values.size(); ++i) {
      dh.values[i] = h.values[i] > 0 ? dh.values[i] / (1 - static_cast<double>(spec.dropout)) : 0;
    }
    ++steps;
    Adam(Multiply(Transposed(xb), dh), w, w_m, w_v, w_steps + steps, spec);
    Adam(Multiply(Transposed(h), z), theta, theta_m, theta_v, theta_steps + steps, spec);
  }
  return losses;
}

}  // namespace l2gcn::reference
