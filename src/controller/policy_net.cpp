#include "controller/policy_net.h"

#include <algorithm>
#include <cmath>

#include "core/error_format.h"

namespace l2gcn {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

PolicyNet::PolicyNet(const PolicyShape& shape, const RandomStream& stream)
    : shape_(shape), weights_(shape.size()) {
  // As the usual LSTM and linear layers start: uniform in ±1/√hidden; embeddings uniform in ±0.1.
  const double bound = 1 / std::sqrt(static_cast<double>(shape.hidden));
  const size_t dense = shape.gate_weights() + shape.decoder_weights();
  for (size_t i = 0; i < weights_.size(); ++i) {
    weights_[i] = (2.0 * static_cast<double>(stream.Uniform(i)) - 1) * (i < dense ? bound : 0.1);
  }
}

PolicyNet::PolicyNet(const PolicyShape& shape, std::vector<double> weights)
    : shape_(shape), weights_(std::move(weights)) {
  L2GCN_ASSERT(weights_.size() == shape_.size());
}

PolicyNet::Step PolicyNet::Decide(const Step* before, std::span<const double> features, uint32_t embedding,
                                  uint32_t decoder) const {
  L2GCN_ASSERT(features.size() == shape_.features);
  const uint32_t hidden = shape_.hidden, inputs = shape_.inputs();
  Step step;
  step.decoder = std::min(decoder, shape_.decoders - 1);
  step.input.assign(features.begin(), features.end());
  if (shape_.embeddings > 0) {
    step.embedding = std::min(embedding, shape_.embeddings - 1);
    const double* row = weights_.data() + shape_.gate_weights() + shape_.decoder_weights() +
                        size_t{step.embedding} * shape_.embedding_width;
    step.input.insert(step.input.end(), row, row + shape_.embedding_width);
  }
  step.h_before = before != nullptr ? before->h : std::vector<double>(hidden, 0.0);
  step.c_before = before != nullptr ? before->c : std::vector<double>(hidden, 0.0);
  step.gates.resize(size_t{4} * hidden);
  const size_t width = inputs + hidden + 1;
  for (uint32_t g = 0; g < 4 * hidden; ++g) {
    const double* w = weights_.data() + g * width;
    double sum = w[width - 1];
    for (uint32_t i = 0; i < inputs; ++i) sum += w[i] * step.input[i];
    for (uint32_t i = 0; i < hidden; ++i) sum += w[inputs + i] * step.h_before[i];
    step.gates[g] = g / hidden == 2 ? std::tanh(sum) : Sigmoid(sum);
  }
  step.c.resize(hidden);
  step.h.resize(hidden);
  for (uint32_t i = 0; i < hidden; ++i) {
    step.c[i] = step.gates[hidden + i] * step.c_before[i] + step.gates[i] * step.gates[2 * hidden + i];
    step.h[i] = step.gates[3 * hidden + i] * std::tanh(step.c[i]);
  }
  const double* w = weights_.data() + shape_.gate_weights() + size_t{step.decoder} * 2 * (hidden + 1);
  double logits[2];
  for (int a = 0; a < 2; ++a) {
    logits[a] = w[a * (hidden + 1) + hidden];
    for (uint32_t i = 0; i < hidden; ++i) logits[a] += w[a * (hidden + 1) + i] * step.h[i];
  }
  step.probability[1] = Sigmoid(logits[1] - logits[0]);
  step.probability[0] = 1 - step.probability[1];
  return step;
}

void PolicyNet::AccumulateGradient(const std::vector<Step>& episode, double scale, double entropy,
                                   std::vector<double>& gradient) const {
  const uint32_t hidden = shape_.hidden, inputs = shape_.inputs();
  const size_t width = inputs + hidden + 1;
  std::vector<double> dh(hidden, 0.0), dc(hidden, 0.0), dgate(size_t{4} * hidden);
  for (size_t t = episode.size(); t-- > 0;) {
    const Step& step = episode[t];
    // Softmax over (go, stop): one difference of logits z = stop − go carries everything.
    const double p = step.probability[1];
    const double dlog = step.action == 1 ? 1 - p : -p;
    const double q = std::clamp(p, 1e-12, 1 - 1e-12);
    const double dentropy = -std::log(q / (1 - q)) * p * (1 - p);
    const double dz = step.chosen ? scale * dlog + entropy * dentropy : 0;
    double* dw = gradient.data() + shape_.gate_weights() + size_t{step.decoder} * 2 * (hidden + 1);
    const double* w = weights_.data() + shape_.gate_weights() + size_t{step.decoder} * 2 * (hidden + 1);
    for (int a = 0; a < 2; ++a) {
      const double dlogit = a == 1 ? dz : -dz;
      for (uint32_t i = 0; i < hidden; ++i) {
        dw[a * (hidden + 1) + i] += dlogit * step.h[i];
        dh[i] += dlogit * w[a * (hidden + 1) + i];
      }
      dw[a * (hidden + 1) + hidden] += dlogit;
    }
    const double *gi = step.gates.data(), *gf = gi + hidden, *gg = gf + hidden, *go = gg + hidden;
    for (uint32_t i = 0; i < hidden; ++i) {
      const double tanh_c = std::tanh(step.c[i]);
      const double dci = dc[i] + dh[i] * go[i] * (1 - tanh_c * tanh_c);
      dgate[i] = dci * gg[i] * gi[i] * (1 - gi[i]);
      dgate[hidden + i] = dci * step.c_before[i] * gf[i] * (1 - gf[i]);
      dgate[2 * hidden + i] = dci * gi[i] * (1 - gg[i] * gg[i]);
      dgate[3 * hidden + i] = dh[i] * tanh_c * go[i] * (1 - go[i]);
      dc[i] = dci * gf[i];
    }
    std::fill(dh.begin(), dh.end(), 0.0);
    double* dembedding = gradient.data() + shape_.gate_weights() + shape_.decoder_weights() +
                         size_t{step.embedding} * shape_.embedding_width;
    for (uint32_t g = 0; g < 4 * hidden; ++g) {
      double* dwg = gradient.data() + g * width;
      const double* wg = weights_.data() + g * width;
      for (uint32_t i = 0; i < inputs; ++i) dwg[i] += dgate[g] * step.input[i];
      for (uint32_t i = 0; i < hidden; ++i) {
        dwg[inputs + i] += dgate[g] * step.h_before[i];
        dh[i] += dgate[g] * wg[inputs + i];
      }
      dwg[width - 1] += dgate[g];
      for (uint32_t i = 0; i < shape_.embedding_width; ++i)
        dembedding[i] += dgate[g] * wg[shape_.features + i];
    }
  }
}

void FlatAdam::Update(std::vector<double>& weights, const std::vector<double>& gradient) {
  m.resize(weights.size(), 0.0);
  v.resize(weights.size(), 0.0);
  ++steps;
  const double bc1 = 1 - std::pow(beta1, static_cast<double>(steps));
  const double bc2 = 1 - std::pow(beta2, static_cast<double>(steps));
  for (size_t i = 0; i < weights.size(); ++i) {
    m[i] = beta1 * m[i] + (1 - beta1) * gradient[i];
    v[i] = beta2 * v[i] + (1 - beta2) * gradient[i] * gradient[i];
    weights[i] -= lr / bc1 * m[i] / (std::sqrt(v[i] / bc2) + epsilon);
  }
}

}  // namespace l2gcn
