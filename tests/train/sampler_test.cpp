// What each sampler estimates: Â X of the batch's nodes, by 10⁴ draws, against the exact product.
#include "train/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "graph/partition.h"
#include "l2gcn/error.h"
#include "sampling.h"
#include "train/samplers/pick.h"

namespace l2gcn {
namespace {

constexpr uint32_t kDraws = 10000;
constexpr double kStandardErrors = 3;
constexpr size_t kColumn = 3;  // the feature whose aggregate is estimated

double Feature(const SmallProblem& small, uint32_t node) {
  return static_cast<double>(small.dataset.features.matrix().row(node)[kColumn]);
}

double Exact(const Propagation& a, const SmallProblem& small, uint32_t node) {
  double sum = static_cast<double>(a.self_scale[node]) * Feature(small, node);
  for (uint64_t e = a.indptr[node]; e < a.indptr[node + 1]; ++e) {
    const uint32_t other = a.indices[e];
    double entry = static_cast<double>(a.row_scale[node]);
    if (!a.col_scale.empty()) entry *= static_cast<double>(a.col_scale[other]);
    sum += entry * Feature(small, other);
  }
  return sum;
}

struct Estimate {
  double sum = 0, squares = 0;
  uint32_t count = 0;
  double mean() const { return sum / count; }
  double variance() const { return std::max(0.0, squares / count - mean() * mean()); }
  double error() const { return std::sqrt(variance() / count); }
};

// Estimates of one layer's aggregate for every loss node, over many steps.
std::map<uint32_t, Estimate> EstimateAggregates(SmallProblem& small, Sampler& sampler) {
  std::map<uint32_t, Estimate> estimates;
  for (uint32_t epoch = 0; epoch < kDraws / sampler.StepsPerEpoch() + 1; ++epoch) {
    for (uint32_t step = 0; step < sampler.StepsPerEpoch(); ++step) {
      const MiniBatch& batch = sampler.Draw(small.context, epoch, step);
      const size_t l = batch.blocks.size() - 1;
      const Block& block = *batch.blocks[l];
      for (uint32_t i = 0; i < block.rows; ++i) {
        double value = 0;
        for (uint64_t e = block.indptr[i]; e < block.indptr[i + 1]; ++e) {
          value += static_cast<double>(block.values[e]) * Feature(small, batch.nodes[l][block.indices[e]]);
        }
        Estimate& estimate = estimates[batch.nodes[l + 1][i]];
        estimate.sum += value;
        estimate.squares += value * value;
        ++estimate.count;
      }
    }
  }
  return estimates;
}

// The share of nodes whose mean lies outside 3 standard errors; a right sampler leaves 0.3 % of them.
double ShareOutside(const std::map<uint32_t, Estimate>& estimates,
                    const std::function<double(uint32_t)>& exact) {
  double outside = 0;
  for (const auto& [node, estimate] : estimates) {
    if (std::abs(estimate.mean() - exact(node)) > kStandardErrors * estimate.error() + 1e-5) ++outside;
  }
  return outside / static_cast<double>(estimates.size());
}

TEST(Samplers, FastGcnIsUnbiased) {
  SmallProblem small("fastgcn", 1);
  const auto sampler = MakeSampler(small.context, small.problem, small.config);
  const auto estimates = EstimateAggregates(small, *sampler);
  EXPECT_LE(ShareOutside(estimates, [&](uint32_t v) { return Exact(small.problem.a, small, v); }), 0.03);
}

TEST(Samplers, GraphSageEstimatesTheNeighboursMeanWithoutBias) {
  SmallProblem small("graphsage", 1);
  const Propagation mean = MakeNeighbourMean(small.context, small.dataset.graph);
  const auto sampler = MakeSampler(small.context, small.problem, small.config);
  const auto estimates = EstimateAggregates(small, *sampler);
  EXPECT_LE(ShareOutside(estimates, [&](uint32_t v) { return Exact(mean, small, v); }), 0.03);
}

// Normalising rows biases the estimate towards Â's row sums; it is small, and shrinks as more nodes are
// drawn.
TEST(Samplers, LadiesHasItsDocumentedBias) {
  double bias[2], scatter[2];
  for (uint32_t i : {0u, 1u}) {
    SmallProblem small("ladies", 1);
    small.config.samples = {i == 0 ? 15u : 120u};
    const auto sampler = MakeSampler(small.context, small.problem, small.config);
    const MiniBatch& batch = sampler->Draw(small.context, 0, 0);
    for (uint32_t row = 0; row < batch.blocks[0]->rows; ++row) {
      const uint32_t node = batch.nodes[1][row];
      double sum = 0, wanted = static_cast<double>(small.problem.a.self_scale[node]);
      for (uint64_t e = batch.blocks[0]->indptr[row]; e < batch.blocks[0]->indptr[row + 1]; ++e) {
        sum += static_cast<double>(batch.blocks[0]->values[e]);
      }
      const Propagation& a = small.problem.a;
      for (uint64_t e = a.indptr[node]; e < a.indptr[node + 1]; ++e) {
        wanted += static_cast<double>(a.row_scale[node] * a.col_scale[a.indices[e]]);
      }
      EXPECT_NEAR(sum, wanted, 1e-5);
    }
    bias[i] = scatter[i] = 0;
    for (const auto& [node, estimate] : EstimateAggregates(small, *sampler)) {
      bias[i] += std::abs(estimate.mean() - Exact(small.problem.a, small, node));
      scatter[i] += estimate.variance();
    }
  }
  EXPECT_LT(bias[1], 0.5 * bias[0]);
  EXPECT_LT(scatter[1], scatter[0]);
}

// With a remembered activation close to the true one, the control variate's scatter falls below plain
// sampling's, and the mean stays right.
TEST(Samplers, VrGcnIsUnbiasedAndLessScatteredThanPlainSampling) {
  SmallProblem small("vrgcn", 2);
  small.config.hidden = {16};
  const auto sampler = MakeSampler(small.context, small.problem, small.config);
  NetworkSpec spec = small.Spec(0);
  spec.stacks[0][0].out = spec.stacks[0][1].in = 16;
  BlockNetwork network(spec);
  // Activations of all nodes under fixed weights, from a batch that reaches everything.
  SmallProblem whole("gcn", 2, false, false, true);
  const auto everything = MakeSampler(whole.context, whole.problem, whole.config);
  const MiniBatch& all = everything->Draw(whole.context, 0, 0);
  network.LossAndGradients(small.context, small.input, all, small.targets, 0);
  std::vector<float> h(network.Activation(0).data, network.Activation(0).data + size_t{120} * 16);

  std::map<uint32_t, Estimate> plain, varied;
  for (uint32_t epoch = 0; epoch < 3000; ++epoch) {
    for (uint32_t step = 0; step < sampler->StepsPerEpoch(); ++step) {
      const MiniBatch& batch = sampler->Draw(small.context, epoch, step);
      if (epoch >= 5) {  // by then every node has been seen
        const Block& block = *batch.blocks[1];
        for (uint32_t i = 0; i < block.rows; ++i) {
          double value = 0;
          for (uint64_t e = block.indptr[i]; e < block.indptr[i + 1]; ++e) {
            value += static_cast<double>(block.values[e]) *
                     static_cast<double>(h[size_t{batch.nodes[1][block.indices[e]]} * 16]);
          }
          const auto add = [&](std::map<uint32_t, Estimate>& to, double x) {
            Estimate& estimate = to[batch.nodes[2][i]];
            estimate.sum += x;
            estimate.squares += x * x;
            ++estimate.count;
          };
          add(plain, value);
          add(varied, value + static_cast<double>(batch.offsets[1].row(i)[0]));
        }
      }
      // Slightly stale: the history holds 0.9 of the truth for a network whose first weights are 0.9 of
      // these.
      if (epoch < 5) {
        network.LossAndGradients(small.context, small.input, batch, small.targets, 0);
        sampler->Observe(small.context, batch, network);
      }
    }
    if (epoch == 4) {
      for (float& value : h) value *= 1.1f;  // the truth moved on; the history did not
    }
  }
  const Propagation& a = small.problem.a;
  double plain_variance = 0, varied_variance = 0, outside = 0;
  for (const auto& [node, estimate] : varied) {
    double exact = static_cast<double>(a.self_scale[node] * h[size_t{node} * 16]);
    for (uint64_t e = a.indptr[node]; e < a.indptr[node + 1]; ++e) {
      const uint32_t other = a.indices[e];
      exact += static_cast<double>(a.row_scale[node] * a.col_scale[other] * h[size_t{other} * 16]);
    }
    plain_variance += plain[node].variance();
    varied_variance += estimate.variance();
    outside += std::abs(estimate.mean() - exact) > kStandardErrors * estimate.error() + 1e-5 ? 1 : 0;
  }
  EXPECT_LE(outside / static_cast<double>(varied.size()), 0.05);
  EXPECT_GT(plain_variance, 0);
  EXPECT_LT(varied_variance, 0.1 * plain_variance);
}

TEST(Samplers, VrGcnKeepsTheHistoriesOfEveryNodeAndHiddenLayer) {
  SmallProblem small("vrgcn", 3);
  const auto sampler = MakeSampler(small.context, small.problem, small.config);
  EXPECT_GE(sampler->StateBytes(), uint64_t{2} * 120 * 16 * sizeof(float));  // O(L N D), widths padded to 16
}

TEST(Samplers, PickDistinctDrawsEverySetEquallyOften) {
  std::map<std::set<uint32_t>, int> seen;
  std::vector<uint32_t> picked;
  for (uint64_t place = 0; place < 20000; ++place) {
    PickDistinct(5, 2, RandomStream(1, RandomUse::kSampler), place, picked);
    ++seen[{picked.begin(), picked.end()}];
  }
  ASSERT_EQ(seen.size(), 10u);
  for (const auto& [set, times] : seen) EXPECT_NEAR(times, 2000, 5 * std::sqrt(2000.0));
  PickDistinct(300, 100, RandomStream(1, RandomUse::kSampler), 3, picked);
  EXPECT_EQ(std::set<uint32_t>(picked.begin(), picked.end()).size(), 100u);
  EXPECT_LT(picked.back(), 300u);
}

TEST(Samplers, ClusterBlocksAreSubgraphsOfWholeClustersOfMetis) {
  if (MetisBuilt() == "no") GTEST_SKIP() << "this build has no METIS";
  SmallProblem small("clustergcn", 2, false, false, true);
  const std::vector<uint32_t> part_of =
      PartitionGraph(small.context, small.dataset.graph, small.config.parts);
  const auto sampler = MakeSampler(small.context, small.problem, small.config);
  std::vector<uint32_t> times(120, 0);
  for (uint32_t step = 0; step < sampler->StepsPerEpoch(); ++step) {
    const MiniBatch& batch = sampler->Draw(small.context, 0, step);
    std::set<uint32_t> parts;
    for (uint32_t node : batch.nodes[0]) parts.insert(part_of[node]), ++times[node];
    EXPECT_LE(parts.size(), small.config.clusters_per_batch);
    size_t members = 0;
    for (uint32_t part : part_of) members += parts.count(part);
    EXPECT_EQ(members, batch.nodes[0].size());  // clusters come whole
  }
  for (uint32_t count : times) EXPECT_EQ(count, 1u);  // every node once an epoch
}

TEST(Samplers, SettingsThatCannotBeServedAreErrors) {
  SmallProblem small("clustergcn", 2);
  small.config.parts = 121;
  try {
    MakeSampler(small.context, small.problem, small.config);
    FAIL() << "121 parts of 120 nodes";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("120 nodes"), std::string::npos);
  }
  EXPECT_THROW(ResolveConfig({{"method", "graphsage"}, {"samples", "0"}}, small.dataset), Error);
  EXPECT_THROW(ResolveConfig({{"method", "graphsaga"}}, small.dataset), Error);
  EXPECT_THROW(ResolveConfig({{"method", "gcn"}, {"epochs", "3,4"}}, small.dataset), Error);
}

}  // namespace
}  // namespace l2gcn
