// A whole training of a regression beside a ridge regression in double precision on [X, ÂX, Â²X].
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "l2gcn/error.h"
#include "l2gcn/generate.h"
#include "l2gcn/train.h"

namespace l2gcn {
namespace {

using Rows = std::vector<std::vector<double>>;

Dataset Generated() {
  GenerateOptions options;
  options.shape = "reddit";
  options.nodes = 3000, options.edges = 9000, options.features = 8;
  options.regression = true;
  return GenerateDataset(MakeContext(2), options);
}

Rows MeansOverNeighbours(const Graph& graph, const Rows& x) {
  Rows means = x;
  for (uint32_t node = 0; node < graph.nodes; ++node) {
    const double degree = static_cast<double>(graph.degree(node));
    for (size_t c = 0; degree > 0 && c < x[node].size(); ++c) {
      means[node][c] = 0;
      for (uint64_t e = graph.indptr[node]; e < graph.indptr[node + 1]; ++e)
        means[node][c] += x[graph.indices[e]][c] / degree;
    }
  }
  return means;
}

// 1, X, ÂX and Â²X side by side.
Rows InputsOf(const Dataset& dataset) {
  const Matrix features = dataset.features.ToMatrix(MakeContext(1));
  Rows x(dataset.nodes()), all(dataset.nodes(), {1.0});
  for (uint32_t node = 0; node < dataset.nodes(); ++node)
    x[node].assign(features.row(node), features.row(node) + features.cols);
  for (int hop = 0; hop < 3; ++hop) {
    for (uint32_t node = 0; node < dataset.nodes(); ++node)
      all[node].insert(all[node].end(), x[node].begin(), x[node].end());
    x = MeansOverNeighbours(dataset.graph, x);
  }
  return all;
}

// Solves (XᵀX + λI) w = Xᵀy by Gaussian elimination.
std::vector<double> Ridge(const Rows& inputs, const Dataset& dataset, const Split& split) {
  const size_t width = inputs[0].size();
  Rows system(width, std::vector<double>(width + 1, 0.0));
  for (size_t c = 0; c < width; ++c) system[c][c] = 1e-3;
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    if (split.roles[node] != static_cast<uint8_t>(Role::kTrain)) continue;
    for (size_t r = 0; r < width; ++r) {
      for (size_t c = 0; c < width; ++c) system[r][c] += inputs[node][r] * inputs[node][c];
      system[r][width] += inputs[node][r] * double{dataset.labels.targets.row(node)[0]};
    }
  }
  for (size_t k = 0; k < width; ++k) {
    for (size_t r = 0; r < width; ++r) {
      if (r == k) continue;
      const double factor = system[r][k] / system[k][k];
      for (size_t c = k; c <= width; ++c) system[r][c] -= factor * system[k][c];
    }
  }
  std::vector<double> weights(width);
  for (size_t k = 0; k < width; ++k) weights[k] = system[k][width] / system[k][k];
  return weights;
}

double RidgeR2(const Dataset& dataset, const Split& split) {
  const Rows inputs = InputsOf(dataset);
  const std::vector<double> weights = Ridge(inputs, dataset, split);
  Matrix predicted = Matrix::Zeros(dataset.nodes(), 1);
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    double sum = 0;
    for (size_t c = 0; c < weights.size(); ++c) sum += weights[c] * inputs[node][c];
    predicted.mutable_row(node)[0] = static_cast<float>(sum);
  }
  return ScoreLogits(MakeContext(1), dataset, predicted, split, Role::kTest).regression.r2;
}

TEST(Regression, TheDefaultIsAsGoodAsARidgeRegressionOnTheSameHops) {
  const Context context = MakeContext(2);
  const Dataset dataset = Generated();
  const TrainConfig config = ResolveConfig({{"split", "random:0.6,0.2,0.2"}, {"epochs", "40"}}, dataset);
  Trained trained = Train(context, dataset, config);
  EvaluateTrained(context, dataset, trained);
  ASSERT_TRUE(trained.result.regression.has_value());
  const double ridge = RidgeR2(dataset, trained.split);
  EXPECT_GT(ridge, 0.5);
  EXPECT_GT(trained.result.regression->test.r2, ridge - 0.01);
  EXPECT_TRUE(std::isnan(trained.result.f1_test));
  // A stored model gives the same predictions, in the target's unit.
  const Matrix predicted = PredictLogits(context, trained.model, dataset);
  EXPECT_EQ(ScoreLogits(context, dataset, predicted, trained.split, Role::kTest).regression.r2,
            trained.result.regression->test.r2);
}

TEST(Regression, SettingsOfClassesAreRefused) {
  const Dataset dataset = Generated();
  for (const auto& [name, value] : Overrides{{"method", "graphsage"},
                                             {"stop", "controller"},
                                             {"threshold", "0.5"},
                                             {"class-weights", "balanced"},
                                             {"correct", "on"}}) {
    try {
      ResolveConfig({{name, value}}, dataset);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("targets of a regression"), std::string::npos) << error.what();
    }
  }
}

TEST(Regression, EveryLossAndRuleTrains) {
  const Context context = MakeContext(2);
  const Dataset dataset = Generated();
  const std::vector<Overrides> all = {{{"loss", "absolute"}},
                                      {{"loss", "huber"}, {"stop", "early"}, {"lr", "0.01"}},
                                      {{"preset", "paper"}, {"lr", "0.01"}, {"val-every", "2"}}};
  for (Overrides overrides : all) {
    overrides.insert(overrides.end(), {{"split", "random:0.6,0.2,0.2"}, {"epochs", "6"}, {"hidden", "32"}});
    Trained trained = Train(context, dataset, ResolveConfig(overrides, dataset));
    EvaluateTrained(context, dataset, trained);
    EXPECT_GT(trained.result.regression->test.r2, 0.1) << overrides[0].first;
  }
}

}  // namespace
}  // namespace l2gcn
