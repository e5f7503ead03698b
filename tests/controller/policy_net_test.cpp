#include "controller/policy_net.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "controller/controller_impl.h"

namespace l2gcn {
namespace {

// An episode with fixed inputs and actions, played through the net.
std::vector<PolicyNet::Step> Play(const PolicyNet& net, uint32_t length) {
  const RandomStream stream(3, RandomUse::kController, 9);
  std::vector<PolicyNet::Step> steps;
  for (uint32_t t = 0; t < length; ++t) {
    std::vector<double> features(net.shape().features);
    for (size_t i = 0; i < features.size(); ++i) features[i] = 2.0 * stream.Uniform(t * 100 + i) - 1;
    const int last = steps.empty() ? 0 : steps.back().action;
    steps.push_back(net.Decide(steps.empty() ? nullptr : &steps.back(), features,
                               2 * t + static_cast<uint32_t>(last), t));
    steps.back().action = t % 3 == 2 ? 1 : 0;
    steps.back().chosen = t != 1;
  }
  return steps;
}

double Objective(const PolicyNet& net, double scale, double entropy) {
  double sum = 0;
  for (const PolicyNet::Step& step : Play(net, 6)) {
    if (!step.chosen) continue;
    sum += scale * std::log(step.probability[step.action]);
    for (double p : step.probability) sum -= entropy * p * std::log(p);
  }
  return sum;
}

TEST(PolicyNet, GradientsMatchFiniteDifferences) {
  for (const PolicyShape& shape : {GeneralShape(5, true), PaperShape(3, 4, 8)}) {
    PolicyNet net(shape, RandomStream(1, RandomUse::kController));
    std::vector<double> gradient(shape.size(), 0.0);
    net.AccumulateGradient(Play(net, 6), 0.7, 0.3, gradient);
    for (size_t i = 0; i < shape.size(); ++i) {
      const double original = net.weights()[i];
      net.mutable_weights()[i] = original + 1e-5;
      const double up = Objective(net, 0.7, 0.3);
      net.mutable_weights()[i] = original - 1e-5;
      const double down = Objective(net, 0.7, 0.3);
      net.mutable_weights()[i] = original;
      ASSERT_NEAR(gradient[i], (up - down) / 2e-5, 1e-7) << "weight " << i;
    }
  }
}

// A toy process whose best answer is known: the loss decreases by a constant until a hidden epoch and is flat
// after it. Each epoch costs; stopping before the hidden epoch costs the decrease that was missed. Best: stop as
// soon as it is flat.
TEST(PolicyNet, PolicyGradientFindsTheKnownBestAnswer) {
  PolicyNet net(PolicyShape{2, 0, 0, 6, 1}, RandomStream(2, RandomUse::kController));
  FlatAdam adam;
  adam.lr = 0.03;
  const auto play = [&](uint32_t turn, const std::function<bool(double)>& choose,
                        std::vector<PolicyNet::Step>& steps) {
    steps.clear();
    double loss = 10;
    for (uint32_t t = 0; t < 12; ++t) {
      const double before = loss;
      if (t < turn) loss -= 1;
      const double inputs[2] = {before - loss, t / 12.0};
      steps.push_back(net.Decide(steps.empty() ? nullptr : &steps.back(), inputs, 0, 0));
      steps.back().action = choose(steps.back().probability[1]) ? 1 : 0;
      if (steps.back().action == 1) break;
    }
    return loss - (10.0 - turn) + 0.3 * static_cast<double>(steps.size());
  };
  uint64_t drawn = 0;
  const RandomStream stream(4, RandomUse::kController, 5);
  std::vector<PolicyNet::Step> steps;
  for (uint32_t round = 0; round < 1500; ++round) {
    std::vector<double> gradient(net.shape().size(), 0.0);
    const uint32_t turn = 2 + round % 8;
    std::vector<std::vector<PolicyNet::Step>> episodes(8);
    std::vector<double> costs;
    double mean = 0;
    for (auto& episode : episodes) {
      costs.push_back(play(
          turn, [&](double p) { return stream.Uniform(drawn++) < p; }, episode));
      mean += costs.back() / 8;
    }
    for (size_t i = 0; i < episodes.size(); ++i) {
      net.AccumulateGradient(episodes[i], (costs[i] - mean) / 8, -0.01, gradient);
    }
    adam.Update(net.mutable_weights(), gradient);
  }
  for (uint32_t turn = 2; turn < 10; ++turn) {
    const double cost = play(
        turn, [](double p) { return p >= 0.5; }, steps);
    EXPECT_EQ(steps.size(), turn + 1) << "turn " << turn;  // the first flat epoch
    EXPECT_NEAR(cost, 0.3 * (turn + 1), 1e-9);
  }
}

TEST(GeneralInputs, DoNotDependOnTheScaleOfTheLoss) {
  std::vector<double> curve;
  for (int i = 0; i < 40; ++i) curve.push_back(2.0 * std::exp(-0.05 * i) + 0.1);
  GeneralView view{0, 2, 80, 5, 2.0};
  std::vector<Observation::Validation> scores = {{0.5, 1.5}, {0.7, 0.9}, {0.72, 0.8}, {0.71, 0.85}};
  const auto inputs = GeneralInputs(curve, view, scores);
  ASSERT_EQ(inputs.size(), GeneralShape(8, true).features);
  for (double& loss : curve) loss *= 3;
  for (Observation::Validation& score : scores) score.loss *= 3;
  view.prior_loss *= 3;
  const auto scaled = GeneralInputs(curve, view, scores);
  for (size_t i = 0; i < inputs.size(); ++i) EXPECT_NEAR(inputs[i], scaled[i], 1e-9) << i;
  EXPECT_EQ(GeneralInputs(curve, view, {}).size(), GeneralShape(8, false).features);
}

// A better F1, a lower loss and a closing gap each move their inputs, from the first decision on.
TEST(GeneralInputs, ShowWhatValidationNodesGain) {
  const std::vector<double> curve(10, 1.0);
  const GeneralView view{0, 2, 80, 5, 2.0};
  const size_t first = GeneralShape(8, false).features;
  const auto one = GeneralInputs(curve, view, std::vector<Observation::Validation>{{0.6, 1.0}});
  EXPECT_DOUBLE_EQ(one[first + 1], 0);  // no gap between training and validation loss
  EXPECT_LT(one[first + 2], 0);         // below the prior loss
  const auto worse =
      GeneralInputs(curve, view, std::vector<Observation::Validation>{{0.6, 1.0}, {0.59, 1.2}});
  EXPECT_GT(worse[first + 1], 0);
  EXPECT_GT(worse[first + 2], 0);
  EXPECT_LT(worse[first + 4], 0);
  EXPECT_NEAR(worse[first + 6], -0.5, 1e-9);  // a point below the best
  EXPECT_GT(worse[first + 7], 0);
}

TEST(BestDecision, WeighsF1AndLossAndAsksForAMargin) {
  BestDecision best;
  EXPECT_TRUE(best.Offer({0.80, 0.60}));
  EXPECT_FALSE(best.Offer({0.80, 0.60}));
  EXPECT_FALSE(best.Offer({0.802, 0.60}));  // 0.2 points
  EXPECT_TRUE(best.Offer({0.804, 0.60}));
  EXPECT_FALSE(best.Offer({0.81, 0.70}));  // a point of F1, but 15 % more loss
  EXPECT_TRUE(best.Offer({0.804, 0.57}));  // 5 % less loss
  EXPECT_FALSE(best.Offer({std::nan(""), 0.1}));
}

}  // namespace
}  // namespace l2gcn
