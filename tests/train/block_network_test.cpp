// Back-propagation against finite differences of the loss, through three layers, for every kind of block.
#include "train/block_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sampling.h"

namespace l2gcn {
namespace {

constexpr double kStep = 5e-4;       // of a weight, along a direction of length 1
constexpr double kTolerance = 0.04;  // relative: float losses and the kinks of ReLU
constexpr double kFloor = 8e-4;      // what rounding of a float loss leaves of the difference

// Along its gradient the loss must grow by the gradient's length.
template <class Loss>
void CheckParameter(BlockParameter& parameter, const Loss& loss, const std::string& what) {
  if (parameter.empty()) return;
  loss();
  const Matrix gradient = parameter.Gradient(), start = parameter.Value();
  double length = 0;
  for (float g : gradient.values) length += static_cast<double>(g) * static_cast<double>(g);
  length = std::sqrt(length);
  ASSERT_GT(length, 1e-4) << what;
  const auto moved = [&](double by) {
    Matrix w = Matrix::Allocate(start.rows, start.cols);
    for (size_t i = 0; i < w.values.size(); ++i) {
      w.values.mutable_data()[i] =
          start.values[i] + static_cast<float>(by / length * static_cast<double>(gradient.values[i]));
    }
    parameter.Set(w);
    return loss();
  };
  const double slope = (moved(kStep) - moved(-kStep)) / (2 * kStep);
  parameter.Set(start);
  EXPECT_NEAR(slope, length, kTolerance * length + kFloor) << what;
}

void CheckGradients(SmallProblem& small, float dropout, const std::string& what) {
  small.config.dropout = dropout;
  const auto sampler = MakeSampler(small.context, small.problem, small.config);
  BlockNetwork network(small.context, small.Spec(dropout));
  uint64_t step = 0;
  for (; step < 4; ++step) {  // a few real steps: histories fill, weights leave their start
    const MiniBatch& batch = sampler->Draw(small.context, static_cast<uint32_t>(step), 0);
    network.Step(small.context, small.input, batch, small.targets, step);
    sampler->Observe(small.context, batch, network);
  }
  const MiniBatch& batch = sampler->Draw(small.context, 7, 0);
  const auto loss = [&] {
    return network.LossAndGradients(small.context, small.input, batch, small.targets, step);
  };
  for (size_t s = 0; s < network.stacks(); ++s) {
    for (size_t l = 0; l < network.layers(s); ++l) {
      const std::string where = what + ", stack " + std::to_string(s) + " layer " + std::to_string(l);
      CheckParameter(network.Weight(s, l), loss, where + " weight");
      CheckParameter(network.NormWeight(s, l), loss, where + " norm weight");
      CheckParameter(network.Bias(s, l), loss, where + " bias");
    }
  }
}

TEST(BlockNetwork, GradientsThroughThreeLayersOfEveryBlockKind) {
  for (const char* method :
       {"gcn", "minibatch", "graphsage", "fastgcn", "ladies", "vrgcn", "clustergcn", "ngcn"}) {
    for (bool sparse : {false, true}) {
      for (float dropout : {0.0f, 0.4f}) {
        SmallProblem small(method, 3, sparse);
        CheckGradients(small, dropout, std::string(method) + (sparse ? " sparse" : " dense"));
      }
    }
  }
}

TEST(BlockNetwork, GradientsOfSigmoidLossAndOfPrecomputedFeatures) {
  for (const char* method : {"gcn", "minibatch", "vrgcn"}) {
    SmallProblem small(method, 3, false, true);
    small.problem.precomputed = true;
    CheckGradients(small, 0.0f, method);
  }
}

TEST(BlockNetwork, GradientsOfLossesWithClassWeights) {
  for (bool multilabel : {false, true}) {
    SmallProblem small("minibatch", 3, false, multilabel);
    small.targets.weights = Array<float>::CopyOf(std::vector<float>{0.25f, 4.0f, 1.5f});
    CheckGradients(small, 0.0f, multilabel ? "label weights" : "class weights");
  }
}

// Everything that a hidden layer may have, alone and together; widths that take both orders of a product.
struct Parts {
  HiddenNorm norm;
  bool bias, self_features;
  float dropout;
  double input_dropout;
};

std::string Words(const Parts& parts) {
  const char* norms[] = {"no norm", "layer norm", "batch norm"};
  std::string words = norms[static_cast<size_t>(parts.norm)];
  if (parts.bias) words += ", bias";
  if (parts.self_features) words += ", self features";
  if (parts.dropout > 0) words += ", dropout";
  if (parts.input_dropout > 0) words += ", input dropout";
  return words;
}

std::vector<Parts> AllParts() {
  std::vector<Parts> all;
  for (HiddenNorm norm : {HiddenNorm::kNone, HiddenNorm::kLayer, HiddenNorm::kBatch})
    for (bool bias : {false, true})
      for (bool self_features : {false, true})
        for (float dropout : {0.0f, 0.3f})
          for (double input_dropout : {0.0, 0.2})
            all.push_back({norm, bias, self_features, dropout, input_dropout});
  return all;
}

void Use(const Parts& parts, SmallProblem& small) {
  small.config.hidden_norm = parts.norm;
  small.config.bias = parts.bias;
  small.config.self_features = parts.self_features;
  small.config.input_dropout = parts.input_dropout;
}

TEST(BlockNetwork, GradientsThroughEveryPartOfALayer) {
  for (const Parts& parts : AllParts()) {
    for (bool sparse : {false, true}) {
      SmallProblem small("gcn", 3, sparse);
      Use(parts, small);
      small.config.hidden = {48, 10, 10};
      CheckGradients(small, parts.dropout, Words(parts) + (sparse ? ", sparse" : ", dense"));
    }
  }
}

TEST(BlockNetwork, GradientsThroughNormsAndSelfFeaturesOfEveryMethod) {
  for (const char* method : {"minibatch", "graphsage", "fastgcn", "ladies", "vrgcn", "clustergcn"}) {
    const auto& takers = FindField("self-features").methods;
    const bool takes = std::find(takers.begin(), takers.end(), method) != takers.end();
    for (HiddenNorm norm : {HiddenNorm::kLayer, HiddenNorm::kBatch}) {
      for (bool sparse : {false, true}) {
        SmallProblem small(method, 3, sparse);
        const Parts parts{norm, false, takes, 0.3f, 0.2};
        Use(parts, small);
        // Nodes that drew no neighbour would be all alike, and reach the kink of ReLU together.
        if (method == std::string("fastgcn")) small.config.samples = {200};
        CheckGradients(small, parts.dropout, method + (" " + Words(parts)));
      }
    }
  }
}

// The network applied by hand in double: layers by layers, all nodes.
using Rows = std::vector<std::vector<double>>;

Rows Aggregated(const Propagation& a, const Rows& h) {
  Rows sum(a.nodes, std::vector<double>(h[0].size(), 0));
  for (uint32_t i = 0; i < a.nodes; ++i) {
    for (size_t k = 0; k < h[0].size(); ++k) {
      sum[i][k] = static_cast<double>(a.self_scale[i]) * h[i][k];
      for (uint64_t e = a.indptr[i]; e < a.indptr[i + 1]; ++e)
        sum[i][k] += static_cast<double>(a.row_scale[i] * a.col_scale[a.indices[e]]) * h[a.indices[e]][k];
    }
  }
  return sum;
}

// y ← (y − mean) / √(variance + 1e-5) over the values at `places`, times weight, plus bias.
template <class Place>
void Normalise(size_t count, const Place& place) {
  double mean = 0, variance = 0;
  for (size_t i = 0; i < count; ++i) mean += place(i) / static_cast<double>(count);
  for (size_t i = 0; i < count; ++i) variance += std::pow(place(i) - mean, 2) / static_cast<double>(count);
  for (size_t i = 0; i < count; ++i) place(i) = (place(i) - mean) / std::sqrt(variance + 1e-5);
}

Rows LayerByHand(const Rows& in, const Propagation& a, BlockNetwork& network, size_t l, HiddenNorm norm,
                 bool self_features, Rows* products = nullptr) {
  const Matrix w = network.Weight(0, l).Value(), norm_weight = network.NormWeight(0, l).Value(),
               bias = network.Bias(0, l).Value();
  const Rows sum = Aggregated(a, in);
  Rows y(a.nodes, std::vector<double>(w.cols, 0));
  for (uint32_t i = 0; i < a.nodes; ++i) {
    std::vector<double> x = self_features ? in[i] : sum[i];
    if (self_features) x.insert(x.end(), sum[i].begin(), sum[i].end());
    for (size_t j = 0; j < w.cols; ++j)
      for (size_t k = 0; k < w.rows; ++k) y[i][j] += x[k] * static_cast<double>(w.row(k)[j]);
  }
  if (products != nullptr) *products = y;
  const bool last = l + 1 == network.layers(0);
  for (size_t j = 0; norm == HiddenNorm::kBatch && !last && j < w.cols; ++j)
    Normalise(y.size(), [&](size_t i) -> double& { return y[i][j]; });
  for (auto& row : y) {
    if (norm == HiddenNorm::kLayer && !last) Normalise(w.cols, [&](size_t j) -> double& { return row[j]; });
    for (size_t j = 0; j < w.cols; ++j) {
      if (norm_weight.rows > 0) row[j] *= static_cast<double>(norm_weight.values[j]);
      if (bias.rows > 0) row[j] += static_cast<double>(bias.values[j]);
      if (!last) row[j] = std::max(row[j], 0.0);
    }
  }
  return y;
}

double LossByHand(const SmallProblem& small, const Rows& logits) {
  double loss = 0;
  for (uint32_t node : small.problem.loss_nodes) {
    double sum = 0;
    for (double z : logits[node]) sum += std::exp(z);
    loss += std::log(sum) - logits[node][static_cast<size_t>(small.targets.classes_of[node])];
  }
  return loss / static_cast<double>(small.problem.loss_nodes.size());
}

Rows FeaturesOf(const SmallProblem& small) {
  Rows h(small.problem.a.nodes);
  for (uint32_t i = 0; i < h.size(); ++i) {
    const float* row = small.dataset.features.matrix().row(i);
    h[i].assign(row, row + small.dataset.features.cols());
  }
  return h;
}

// Wide layers before narrow ones make B(HW) cheaper, the others (BH)W: both orders must mean the same.
TEST(BlockNetwork, LossIsThatOfTheNetworkByHand) {
  for (const Parts& parts : AllParts()) {
    if (parts.dropout > 0 || parts.input_dropout > 0) continue;
    for (const std::vector<uint32_t>& hidden : {std::vector<uint32_t>{2}, {160}, {48, 10, 10}}) {
      SmallProblem small("gcn", 3);
      Use(parts, small);
      small.config.hidden = hidden;
      const auto sampler = MakeSampler(small.context, small.problem, small.config);
      BlockNetwork network(small.context, small.Spec(0));
      for (uint64_t step = 0; step < 3; ++step)  // norms and biases leave their start
        network.Step(small.context, small.input, sampler->Draw(small.context, 0, 0), small.targets, step);
      const double loss = network.LossAndGradients(small.context, small.input,
                                                   sampler->Draw(small.context, 0, 0), small.targets, 3);
      Rows h = FeaturesOf(small);
      for (size_t l = 0; l < 3; ++l)
        h = LayerByHand(h, small.problem.a, network, l, parts.norm, parts.self_features);
      EXPECT_NEAR(loss, LossByHand(small, h), 2e-5) << Words(parts) << " " << hidden[0];
    }
  }
}

// Momentum 0.1, the variance unbiased, as torch.nn.BatchNorm1d has it.
TEST(BlockNetwork, RunningStatisticsFollowTheSteps) {
  SmallProblem small("gcn", 2);
  small.config.hidden_norm = HiddenNorm::kBatch;
  const auto sampler = MakeSampler(small.context, small.problem, small.config);
  BlockNetwork network(small.context, small.Spec(0));
  const size_t width = network.Weight(0, 0).cols;
  const auto nodes = static_cast<double>(small.problem.a.nodes);
  std::vector<double> mean(width, 0), variance(width, 1);
  for (uint64_t step = 0; step < 5; ++step) {
    Rows products;
    LayerByHand(FeaturesOf(small), small.problem.a, network, 0, HiddenNorm::kBatch, false, &products);
    for (size_t j = 0; j < width; ++j) {
      double sum = 0, squares = 0;
      for (const auto& row : products) sum += row[j] / nodes;
      for (const auto& row : products) squares += std::pow(row[j] - sum, 2) / (nodes - 1);
      mean[j] = 0.9 * mean[j] + 0.1 * sum;
      variance[j] = 0.9 * variance[j] + 0.1 * squares;
    }
    network.Step(small.context, small.input, sampler->Draw(small.context, 0, 0), small.targets, step);
  }
  const HiddenParameters hidden = network.Hidden(0, 0);
  for (size_t j = 0; j < width; ++j) {
    EXPECT_NEAR(hidden.running_mean.values[j], mean[j], 1e-5) << j;
    EXPECT_NEAR(hidden.running_var.values[j], variance[j], 1e-4 * variance[j]) << j;
  }
  EXPECT_EQ(network.Hidden(0, 1).running_mean.rows, 0u);
}

TEST(BlockNetwork, WeightDecaySparesNormsAndBiases) {
  for (HiddenNorm norm : {HiddenNorm::kNone, HiddenNorm::kBatch}) {
    std::vector<Matrix> weights, biases;
    for (float decay : {0.0f, 0.5f}) {
      SmallProblem small("gcn", 2);
      small.config.hidden_norm = norm;
      small.config.bias = true;
      NetworkSpec spec = small.Spec(0);
      spec.weight_decay = decay;
      const auto sampler = MakeSampler(small.context, small.problem, small.config);
      BlockNetwork network(small.context, spec);
      network.Step(small.context, small.input, sampler->Draw(small.context, 0, 0), small.targets, 0);
      weights.push_back(network.Weight(0, 0).Value());
      biases.push_back(network.Bias(0, 0).Value());
    }
    const auto same = [](const Matrix& a, const Matrix& b) {
      return std::equal(a.values.begin(), a.values.end(), b.values.begin());
    };
    EXPECT_FALSE(same(weights[0], weights[1]));
    EXPECT_TRUE(same(biases[0], biases[1]));
  }
}

// It takes lr·decay·w from the weights, apart from the step that Adam makes without it.
TEST(BlockNetwork, DecoupledWeightDecayShrinksTheWeightsBesideAdamsStep) {
  constexpr float kDecay = 0.5f;
  std::vector<Matrix> weights, biases;
  Matrix start;
  float lr = 0;
  for (float decay : {0.0f, kDecay}) {
    SmallProblem small("gcn", 2);
    small.config.bias = true;
    NetworkSpec spec = small.Spec(0);
    spec.weight_decay = decay;
    spec.decoupled_weight_decay = true;
    lr = spec.lr;
    const auto sampler = MakeSampler(small.context, small.problem, small.config);
    BlockNetwork network(small.context, spec);
    start = network.Weight(0, 0).Value();
    network.Step(small.context, small.input, sampler->Draw(small.context, 0, 0), small.targets, 0);
    weights.push_back(network.Weight(0, 0).Value());
    biases.push_back(network.Bias(0, 0).Value());
  }
  for (size_t i = 0; i < start.values.size(); ++i) {
    EXPECT_NEAR(weights[1].values[i], weights[0].values[i] - lr * kDecay * start.values[i], 1e-6) << i;
  }
  EXPECT_TRUE(std::equal(biases[0].values.begin(), biases[0].values.end(), biases[1].values.begin()));
}

}  // namespace
}  // namespace l2gcn
