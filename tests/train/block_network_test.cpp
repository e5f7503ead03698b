// Back-propagation against finite differences of the loss, through three layers, for every kind of block.
#include "train/block_network.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sampling.h"

namespace l2gcn {
namespace {

constexpr double kStep = 5e-4;       // of a weight, along a direction of length 1
constexpr double kTolerance = 0.04;  // relative: float losses and the kinks of ReLU
constexpr double kFloor = 8e-4;      // what rounding of a float loss leaves of the difference

// Along the gradient of each weight matrix the loss must grow by its length.
void CheckGradients(SmallProblem& small, float dropout, const std::string& what) {
  small.config.dropout = dropout;
  const auto sampler = MakeSampler(small.context, small.problem, small.config);
  BlockNetwork network(small.Spec(dropout));
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
      loss();
      const Matrix gradient = network.Gradient(s, l), start = network.Weight(s, l);
      double length = 0;
      for (float g : gradient.values) length += static_cast<double>(g) * static_cast<double>(g);
      length = std::sqrt(length);
      ASSERT_GT(length, 1e-4) << what << " stack " << s << " layer " << l;
      const auto moved = [&](double by) {
        Matrix w = Matrix::Allocate(start.rows, start.cols);
        for (size_t i = 0; i < w.values.size(); ++i) {
          w.values.mutable_data()[i] =
              start.values[i] + static_cast<float>(by / length * static_cast<double>(gradient.values[i]));
        }
        network.SetWeight(s, l, w);
        return loss();
      };
      const double slope = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      network.SetWeight(s, l, start);
      EXPECT_NEAR(slope, length, kTolerance * length + kFloor) << what << " stack " << s << " layer " << l;
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

// Wide features make B(HW) cheaper, narrow ones (BH)W: both orders must mean the same.
TEST(BlockNetwork, BothOrdersOfAProductAgree) {
  for (uint32_t hidden : {2u, 160u}) {
    SmallProblem small("gcn", 3);
    small.config.hidden = {hidden};
    NetworkSpec spec = small.Spec(0);
    for (size_t l = 0; l + 1 < 3; ++l) spec.stacks[0][l].out = spec.stacks[0][l + 1].in = hidden;
    const auto sampler = MakeSampler(small.context, small.problem, small.config);
    const MiniBatch& batch = sampler->Draw(small.context, 0, 0);
    BlockNetwork network(spec);
    const double loss = network.LossAndGradients(small.context, small.input, batch, small.targets, 0);
    // The same network, applied by hand in double.
    const Propagation& a = small.problem.a;
    std::vector<std::vector<double>> h(a.nodes);
    for (uint32_t i = 0; i < a.nodes; ++i)
      h[i].assign(small.dataset.features.matrix().row(i), small.dataset.features.matrix().row(i) + 12);
    for (size_t l = 0; l < 3; ++l) {
      const Matrix w = network.Weight(0, l);
      std::vector<std::vector<double>> next(a.nodes, std::vector<double>(w.cols, 0));
      for (uint32_t i = 0; i < a.nodes; ++i) {
        std::vector<double> sum(w.rows, 0);
        for (size_t k = 0; k < w.rows; ++k) {
          sum[k] = static_cast<double>(a.self_scale[i]) * h[i][k];
          for (uint64_t e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
            sum[k] += static_cast<double>(a.row_scale[i] * a.col_scale[a.indices[e]]) * h[a.indices[e]][k];
          }
        }
        for (size_t j = 0; j < w.cols; ++j) {
          for (size_t k = 0; k < w.rows; ++k) next[i][j] += sum[k] * static_cast<double>(w.row(k)[j]);
          if (l < 2) next[i][j] = std::max(next[i][j], 0.0);
        }
      }
      h = next;
    }
    double expected = 0;
    for (uint32_t node : small.problem.loss_nodes) {
      double sum = 0;
      for (double z : h[node]) sum += std::exp(z);
      expected += std::log(sum) - h[node][static_cast<size_t>(small.targets.classes_of[node])];
    }
    EXPECT_NEAR(loss, expected / static_cast<double>(small.problem.loss_nodes.size()), 1e-5) << hidden;
  }
}

}  // namespace
}  // namespace l2gcn
