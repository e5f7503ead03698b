// Automatic training: the base rate, its schedule, and when a layer stops (--lr auto, --stop plateau).
#include "train/auto_schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/rng.h"
#include "kernels/backend.h"
#include "l2gcn/error.h"
#include "same_model.h"
#include "small_dataset.h"
#include "train/held_out.h"
#include "train/layer_rate.h"
#include "train/layerwise_trainer.h"
#include "train/plateau_stopping.h"

namespace l2gcn {
namespace {

TrainConfig AutoConfig() {
  TrainConfig config = SmallConfig();
  config.method = "layerwise";
  config.stop = StopRule::kPlateau;
  config.lr.reset();
  config.epochs = {40};
  return config;
}

// Epochs until a policy that evaluates four nodes stops a curve of their mean losses, and the best epoch.
std::pair<uint32_t, uint32_t> StopOf(PlateauStopping& policy, const std::vector<float>& curve,
                                     uint32_t layers = 1, bool norm = false) {
  policy.BeginLayer({0, layers, static_cast<uint32_t>(curve.size()), 0, 100, 1, norm});
  uint32_t best = 0;
  for (uint32_t epoch = policy.EpochsUntilDecision(0); epoch <= curve.size();
       epoch += policy.EpochsUntilDecision(epoch)) {
    const float loss = curve[epoch - 1];
    const std::vector<float> nodes = {0.5f * loss, 1.5f * loss, 0.9f * loss, 1.1f * loss};
    Observation observation;
    observation.epoch = epoch;
    observation.node_losses = nodes;
    observation.node_misses = nodes;
    const Decision decision = policy.Decide(observation);
    if (decision.best_so_far) best = epoch;
    if (decision.stop) return {epoch, best};
  }
  return {static_cast<uint32_t>(curve.size()), best};
}

TEST(LrDecay, IsConstantAndThenLinearToZero) {
  const LrDecay decay = LrSchedule{2, 4}.InSteps(5);
  EXPECT_EQ(decay.Share(0), 1.0f);
  EXPECT_EQ(decay.Share(10), 1.0f);
  EXPECT_EQ(decay.Share(15), 0.5f);
  EXPECT_EQ(decay.Share(19), 0.1f);
  EXPECT_EQ(decay.Share(20), 0.0f);
  EXPECT_EQ(LrSchedule{}.InSteps(5).Share(1u << 30), 1.0f);
}

// Constants for tests of the rule itself, independent of the fitted ones.
AutoSchedule SimpleSchedule() {
  AutoSchedule schedule;
  schedule.growth = 0.2;
  schedule.standard_errors = 1;
  schedule.window = 0.5, schedule.basic_patience = 1, schedule.norm_patience = 1, schedule.min_gain = 0.05;
  schedule.basic_threshold = 0.5, schedule.norm_threshold = 0.1, schedule.f1_threshold = 0.2,
  schedule.inner_factor = 2;
  schedule.gain_cap = 1;
  schedule.least_steps = 0;
  return schedule;
}

TEST(PlateauStopping, StopsWhereNothingMoreIsGained) {
  PlateauStopping policy({2.0}, SimpleSchedule());
  std::vector<float> flat(60, 0.5f), falling, turning;
  flat[0] = 2, flat[1] = 1;
  for (int i = 0; i < 60; ++i) falling.push_back(2.0f * std::pow(0.95f, static_cast<float>(i)));
  for (int i = 0; i < 60; ++i) turning.push_back(1.0f + 0.08f * static_cast<float>(std::abs(i - 9)));
  EXPECT_LE(StopOf(policy, flat).first, 10u);
  EXPECT_EQ(StopOf(policy, flat).second, 3u);
  EXPECT_EQ(StopOf(policy, falling).first, 60u);
  EXPECT_EQ(StopOf(policy, turning).second, 10u);
  EXPECT_LT(StopOf(policy, turning).first, 25u);
}

// After its first epoch it loses 0.0208 with each doubling of the epochs.
std::vector<float> SlowCurve(float first) {
  std::vector<float> slow = {first};
  for (int i = 1; i < 100; ++i) slow.push_back(1.0f - 0.03f * std::log(static_cast<float>(i + 1)));
  return slow;
}

// The threshold grows with the square of the epochs. Where the improvement so far is above the cap, it does not depend on how
// far above. One evaluation shows no trend.
TEST(PlateauStopping, TheThresholdGrowsWithTheSquareOfTheEpochs) {
  for (const float first : {1.2f, 1.9f}) {
    AutoSchedule schedule = SimpleSchedule();
    const auto stop = [&](double threshold) {
      schedule.basic_threshold = threshold;
      PlateauStopping policy({2.0}, schedule);
      return StopOf(policy, SlowCurve(first)).first;
    };
    EXPECT_GE(stop(10), 3u);
    EXPECT_LE(stop(10), 8u);
    EXPECT_NEAR(stop(0.8), 16, 4);  // 0.0208 / 0.8 is the square of the share of sixteen epochs
    EXPECT_NEAR(stop(0.2), 32, 7);
    EXPECT_EQ(stop(0.015), 100u);
  }
}

// Layers with a norm, basic inner layers and several labels each have a threshold of their own.
TEST(PlateauStopping, EachKindOfLayerHasItsThreshold) {
  AutoSchedule schedule = SimpleSchedule();
  schedule.basic_threshold = 0.4, schedule.inner_factor = 4, schedule.norm_threshold = 0.1,
  schedule.f1_threshold = 0.2;
  const auto stop = [&](bool several, uint32_t layers, bool norm) {
    PlateauStopping policy({several ? 1.0 : 2.0, several}, schedule);
    return StopOf(policy, SlowCurve(1.9f), layers, norm).first;
  };
  const auto stop_at = [&](double threshold) {
    AutoSchedule own = SimpleSchedule();
    own.basic_threshold = threshold;
    PlateauStopping policy({2.0}, own);
    return StopOf(policy, SlowCurve(1.9f)).first;
  };
  EXPECT_LT(stop_at(1.6), stop_at(0.8));
  EXPECT_LT(stop_at(0.8), stop_at(0.4));
  EXPECT_LT(stop_at(0.4), stop_at(0.2));
  EXPECT_LT(stop_at(0.2), stop_at(0.1));
  EXPECT_EQ(stop(false, 1, false), stop_at(0.4));
  EXPECT_EQ(stop(false, 2, false), stop_at(1.6));
  EXPECT_EQ(stop(false, 1, true), stop_at(0.1));
  EXPECT_EQ(stop(false, 2, true), stop_at(0.1));
  EXPECT_EQ(stop(true, 1, false), stop_at(0.2));
  EXPECT_EQ(stop(true, 2, false), stop_at(0.8));
  EXPECT_EQ(stop(true, 2, true), stop_at(0.1));
}

// Where little can be learned, slow improvements are worth going on for: the threshold is relative to the improvement so far, up
// to the cap.
TEST(PlateauStopping, TheThresholdIsRelativeToTheImprovement) {
  for (const bool norm : {false, true}) {
    AutoSchedule schedule = SimpleSchedule();
    schedule.basic_threshold = schedule.norm_threshold = 1;
    const auto stop = [&](double prior, float first, double gain_cap) {
      schedule.gain_cap = gain_cap;
      PlateauStopping policy({prior}, schedule);
      return StopOf(policy, SlowCurve(first), 1, norm).first;
    };
    // The squared share is 0.0208 / (threshold · improvement): improvements are 0.07 to 0.2, and about 1.1.
    EXPECT_GE(stop(1.05, 1.04f, 5), 32u);
    EXPECT_NEAR(stop(2.0, 1.9f, 5), 14, 4);
    EXPECT_EQ(stop(2.0, 1.9f, 0.1), stop(3.0, 2.9f, 0.1));
    EXPECT_GE(stop(2.0, 1.9f, 0.1), 32u);
  }
}

// A layer whose loss turns stops after half as many epochs more as led to its best, with a norm after as many.
TEST(PlateauStopping, PatienceFollowsTheBestEvaluationAndTheKindOfLayer) {
  AutoSchedule schedule = SimpleSchedule();
  schedule.growth = 0;
  schedule.basic_patience = 0.5;
  schedule.basic_threshold = schedule.norm_threshold = 0;
  std::vector<float> turning;
  for (int i = 0; i < 60; ++i) turning.push_back(i < 10 ? 2.0f - 0.1f * static_cast<float>(i) : 1.2f);
  for (int i = 40; i < 60; ++i) turning[static_cast<size_t>(i)] = 0.5f;  // too late to be seen
  PlateauStopping policy({2.0}, schedule);
  using Ends = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(StopOf(policy, turning), Ends(15, 10));
  EXPECT_EQ(StopOf(policy, turning, 1, true), Ends(20, 10));
}

// Learning the shares of the classes does not count as an improvement.
TEST(PlateauStopping, ThePriorBaselineFollowsTheSharesOfTheLabels) {
  Labels labels;
  labels.classes = 2;
  labels.classes_of = Array<int32_t>::CopyOf(std::vector<int32_t>{0, 0, 0, 1, -1, 1});
  const std::vector<uint32_t> even = {2, 3}, uneven = {0, 1, 2, 3, 4};
  EXPECT_NEAR(PriorBaselineOf(labels, even).loss, std::log(2.0), 1e-12);
  EXPECT_NEAR(PriorBaselineOf(labels, uneven).loss, -0.75 * std::log(0.75) - 0.25 * std::log(0.25), 1e-12);
  labels.multilabel = true;
  EXPECT_EQ(PriorBaselineOf(labels, even).loss, 1);
  EXPECT_TRUE(PriorBaselineOf(labels, even).by_f1);
  // Where thresholds are chosen afterwards losses count, means over the labels: here one of two nodes has the first label,
  // and both have the second.
  labels.matrix = Array<uint8_t>::CopyOf(std::vector<uint8_t>{0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0});
  EXPECT_NEAR(PriorBaselineOf(labels, even, true).loss, std::log(2.0) / 2, 1e-12);
  EXPECT_FALSE(PriorBaselineOf(labels, even, true).by_f1);
}

// A slow start, barely below the prior loss, is not taken for a plateau.
TEST(PlateauStopping, ASlowStartIsNoEnd) {
  PlateauStopping policy({2.0}, SimpleSchedule());
  std::vector<float> slow;
  for (int i = 0; i < 30; ++i) slow.push_back(2.0f - 0.003f * static_cast<float>(i));
  EXPECT_EQ(StopOf(policy, slow).first, 30u);
}

// Where nodes have several labels their F1 decides, whatever the losses do; where they have one class, its loss.
TEST(PlateauStopping, SeveralLabelsGoByTheirF1) {
  for (const bool several : {false, true}) {
    PlateauStopping policy({1.0, several}, SimpleSchedule());
    policy.BeginLayer({0, 1, 10, 0, 100});
    const auto is_best = [&](uint32_t epoch, const std::vector<float>& losses,
                             const std::vector<float>& misses) {
      Observation observation;
      observation.epoch = epoch;
      observation.node_losses = losses;
      observation.node_misses = misses;
      return policy.Decide(observation).best_so_far;
    };
    EXPECT_TRUE(is_best(1, {0.5f, 0.5f}, {0.8f, 0.8f}));
    EXPECT_EQ(is_best(2, {0.6f, 0.6f}, {0.7f, 0.7f}), several);
    EXPECT_EQ(is_best(3, {0.4f, 0.4f}, {0.9f, 0.9f}), !several);
  }
}

// Where epochs are short, no layer stops before a number of steps, and evaluations are a few steps apart.
TEST(PlateauStopping, ShortEpochsAreEvaluatedRarelyAndNotStoppedAtOnce) {
  const AutoSchedule schedule;
  PlateauStopping policy({2.0}, schedule);
  policy.BeginLayer({0, 1, 80, 0, 2});
  const std::vector<float> nodes = {0.5f, 0.5f};
  uint32_t epoch = policy.EpochsUntilDecision(0), evaluations = 0;
  EXPECT_GE(2 * epoch, schedule.least_steps / 2);
  for (;; epoch += policy.EpochsUntilDecision(epoch), ++evaluations) {
    Observation observation;
    observation.epoch = epoch;
    observation.node_losses = observation.node_misses = nodes;  // nothing moves
    if (policy.Decide(observation).stop) break;
    EXPECT_GE(policy.EpochsUntilDecision(epoch), 3u);
  }
  EXPECT_GE(2 * epoch, schedule.least_steps);
  EXPECT_LE(evaluations, 5u);
}

// One node that improves by luck changes neither the best evaluation nor the stop.
TEST(PlateauStopping, LuckOfANodeIsNotBetter) {
  PlateauStopping policy({2.0}, SimpleSchedule());
  policy.BeginLayer({0, 1, 10, 0, 100});
  const auto is_best = [&](uint32_t epoch, std::vector<float> nodes) {
    Observation observation;
    observation.epoch = epoch;
    observation.node_losses = nodes;
    observation.node_misses = nodes;
    return policy.Decide(observation).best_so_far;
  };
  EXPECT_TRUE(is_best(1, {1, 1, 1, 1}));
  EXPECT_FALSE(is_best(2, {0.1f, 1.2f, 1.2f, 1.2f}));
  EXPECT_TRUE(is_best(3, {0.9f, 0.9f, 0.9f, 0.9f}));
  PlateauStopping again({2.0}, SimpleSchedule());
  again.BeginLayer({0, 1, 10, 0, 100});
  again.Restore(policy.Memory());
  EXPECT_EQ(again.Memory(), policy.Memory());
  EXPECT_THROW(again.Restore(std::vector<double>{1, 2, 7}), Error);
}

TEST(EstimateRate, LongRowsGetLowerRatesAndFewStepsHigherOnes) {
  const Context context = MakeContext(1);
  const auto backend = MakeBackend(context, {});
  Matrix x = Matrix::Zeros(200, 10);
  for (size_t i = 0; i < x.rows; ++i) x.mutable_row(i)[i % 10] = i < 100 ? 4.0f : 1.0f;
  const TensorPtr rows = backend->Upload(context, Features::Dense(std::move(x)));
  std::vector<uint32_t> long_rows, short_rows;
  for (uint32_t i = 0; i < 100; ++i) long_rows.push_back(i), short_rows.push_back(100 + i);
  const AutoSchedule schedule;
  const auto rate = [&](const std::vector<uint32_t>& of, bool norm, double steps, double nodes = 100) {
    LayerArchitecture architecture;
    architecture.norm = norm ? HiddenNorm::kLayer : HiddenNorm::kNone;
    return EstimateRate(context, *backend, *rows, of, architecture, nodes, steps, schedule);
  };
  EXPECT_DOUBLE_EQ(rate(short_rows, false, 1e4), schedule.basic_rate);
  EXPECT_NEAR(rate(long_rows, false, 1e4), schedule.basic_rate * std::pow(4.0, -schedule.basic_power), 1e-12);
  EXPECT_DOUBLE_EQ(rate(long_rows, true, 1e4), rate(short_rows, true, 1e4));  // a norm takes the length away
  EXPECT_GT(rate(long_rows, false, 100), rate(long_rows, false, 1e4));
  const double more = 2 * schedule.many_nodes;
  EXPECT_DOUBLE_EQ(rate(long_rows, false, 1e4, more),
                   std::pow(2.0, schedule.many_nodes_power) * rate(long_rows, false, 1e4));
  EXPECT_DOUBLE_EQ(rate(long_rows, false, 1e4, 1e9), schedule.many_nodes_cap * rate(long_rows, false, 1e4));
  EXPECT_DOUBLE_EQ(rate(long_rows, true, 1e4, more),
                   rate(long_rows, true, 1e4));  // not where there is a norm
}

TEST(HeldOut, FollowsTheSettingAndTheSplit) {
  Dataset dataset = SmallDataset(false, false, 600);
  TrainConfig config = AutoConfig();
  const SplitNodes nodes(ResolveSplit(dataset, config.split, 0));
  EXPECT_EQ(HeldOutCount(config, dataset, nodes), 0u);  // validation nodes have labels
  config.hold_out = 0.25;
  EXPECT_EQ(HeldOutCount(config, dataset, nodes), nodes.train.size() / 4);
  config.hold_out = std::nullopt;
  for (uint32_t node : nodes.val) dataset.labels.classes_of.mutable_data()[node] = -1;
  const uint32_t count = HeldOutCount(config, dataset, nodes);
  EXPECT_EQ(count, nodes.train.size() / 10);
  config.hold_out = 0;
  EXPECT_EQ(HeldOutCount(config, dataset, nodes), 0u);
  const HeldOut drawn = DrawHeldOut(nodes, count, 7);
  EXPECT_EQ(drawn.held.size(), count);
  EXPECT_EQ(drawn.held.size() + drawn.others.size(), nodes.train.size());
}

// At a fixed rate the controller may evaluate held-out train nodes, too: then no validation label is read. Small sets do so
// only on request.
TEST(HeldOut, ServesTheControllerAtAFixedRate) {
  Dataset dataset = SmallDataset(false, false, 600);
  TrainConfig config = AutoConfig();
  config.stop = StopRule::kController;
  config.lr = 0.01;
  const SplitNodes nodes(ResolveSplit(dataset, config.split, 0));
  EXPECT_EQ(HeldOutCount(config, dataset, nodes), 0u);
  config.hold_out = 0.2;
  const Trained before = Train(MakeContext(2), dataset, config);
  EXPECT_FALSE(before.result.layers[0].probabilities.empty());
  for (const uint32_t node : nodes.val) {
    int32_t& label = dataset.labels.classes_of.mutable_data()[node];
    label = (label + 1) % 3;
  }
  EXPECT_TRUE(SameModel(before.model, Train(MakeContext(2), dataset, config).model));
}

TEST(AutoRate, SameModelForAnyThreadCount) {
  const Dataset dataset = SmallDataset(false, false, 600);
  for (const std::optional<double> hold_out : {std::optional<double>(), std::optional(0.2)}) {
    TrainConfig config = AutoConfig();
    config.hold_out = hold_out;
    config.batch = 100;
    const Trained first = Train(MakeContext(1), dataset, config);
    for (uint32_t threads : {2u, 4u})
      EXPECT_TRUE(SameModel(first.model, Train(MakeContext(threads), dataset, config).model)) << threads;
  }
}

TEST(AutoRate, LearnsAndRecordsRateAndSteps) {
  const Dataset dataset = SmallDataset(false, false, 600);
  const TrainConfig config = AutoConfig();
  Trained trained = Train(MakeContext(2), dataset, config);
  EvaluateTrained(MakeContext(2), dataset, trained);
  EXPECT_GT(trained.result.f1_test, 0.9);
  const uint64_t nodes = NodesWithRole(trained.split, Role::kTrain).size();
  for (const SeedResult::Layer& layer : trained.result.layers) {
    EXPECT_GT(layer.rate, 0);
    EXPECT_EQ(layer.steps, layer.epochs * ((nodes + config.batch - 1) / config.batch));
  }
}

// A step of Adam goes as far for a last batch of one node as for a whole one, so such a rest is left out, unless the user
// says otherwise; half a batch is not.
TEST(AutoRate, ARestOfAFewNodesIsLeftOut) {
  const Dataset dataset = SmallDataset(false, false, 600);
  const uint64_t nodes = SplitNodes(ResolveSplit(dataset, "", 0)).train.size();
  const auto drops = [&](uint64_t batch, const char* lr, Overrides more = {}) {
    more.insert(more.end(), {{"lr", lr}, {"batch", std::to_string(batch)}});
    return ResolveConfig(more, dataset).drop_last;
  };
  EXPECT_TRUE(drops(nodes - 1, "auto"));
  EXPECT_FALSE(drops(nodes - nodes / 3, "auto"));
  EXPECT_FALSE(drops(nodes, "auto"));
  EXPECT_FALSE(drops(nodes + 1, "auto"));
  EXPECT_FALSE(drops(nodes - 1, "auto", {{"drop-last", "false"}}));
  EXPECT_FALSE(drops(nodes - 1, "0.01"));
}

// Test labels never count; validation labels decide, and where train nodes are held out they are not read either.
TEST(AutoRate, OnlyTheEvaluationNodesDecide) {
  for (const std::optional<double> hold_out : {std::optional<double>(), std::optional(0.2)}) {
    Dataset dataset = SmallDataset(false, false, 600);
    TrainConfig config = AutoConfig();
    config.hold_out = hold_out;
    const Trained before = Train(MakeContext(2), dataset, config);
    for (uint32_t i = 0; i < dataset.nodes(); ++i) {
      const auto role = static_cast<Role>(before.split.roles[i]);
      const bool other = role == Role::kTest || (role == Role::kVal && hold_out);
      int32_t& label = dataset.labels.classes_of.mutable_data()[i];
      if (other && label >= 0) label = (label + 1) % 3;
    }
    EXPECT_TRUE(SameModel(before.model, Train(MakeContext(2), dataset, config).model))
        << hold_out.value_or(0);
  }
}

// Records what it observes of the evaluation nodes.
class Listener final : public StopPolicy {
 public:
  struct Heard {
    bool last;
    double node_loss, loss;  // the mean over the nodes, and the loss of the evaluation
  };
  void BeginLayer(const LayerView& view) override { last_ = view.layer + 1 == view.layers; }
  uint32_t EpochsUntilDecision(uint32_t) const override { return 5; }
  Decision Decide(const Observation& observation) override {
    double sum = 0;
    for (const float loss : observation.node_losses) sum += double{loss};
    heard.push_back(
        {last_, sum / static_cast<double>(observation.node_losses.size()), observation.validation.loss});
    return {};
  }
  bool WantsNodeLosses() const override { return true; }
  std::string Name() const override { return "listener"; }

  std::vector<Heard> heard;

 private:
  bool last_ = false;
};

// In the last layer, losses of nodes with one class are temperature-scaled. Those of inner layers and of several labels are not.
TEST(AutoRate, OnlyTheLastLayersLossesAreCalibrated) {
  for (const bool several : {false, true}) {
    for (const std::optional<double> hold_out : {std::optional<double>(), std::optional(0.2)}) {
      TrainConfig config = AutoConfig();
      config.hold_out = hold_out;
      config.lr = 0.05;
      Dataset dataset = SmallDataset(several, false, 600);
      for (uint32_t i = 0; i < dataset.nodes() && !several; i += 4) {  // a layer is wrong here and sure of it
        int32_t& label = dataset.labels.classes_of.mutable_data()[i];
        label = (label + 1) % 3;
      }
      Listener listener;
      Train(MakeContext(2), dataset, config, listener);
      double calibrated = 0;
      for (const Listener::Heard& heard : listener.heard) {
        if (heard.last && !several) {
          EXPECT_LE(heard.node_loss, heard.loss + 1e-5);
          calibrated = std::max(calibrated, heard.loss - heard.node_loss);
        } else {
          EXPECT_NEAR(heard.node_loss, heard.loss, 1e-5);
        }
      }
      EXPECT_EQ(listener.heard.size(), 16u);
      EXPECT_EQ(calibrated > 0.01, !several);
    }
  }
}

// Inner layers end with the weights of their best evaluation; the last layer cools down from there.
TEST(AutoRate, OnlyTheLastLayerCoolsDown) {
  const Dataset dataset = SmallDataset(false, false, 600);
  TrainConfig config = AutoConfig();
  config.batch = 100;
  config.layers = 3;
  const SplitNodes nodes(ResolveSplit(dataset, config.split, 0));
  LayerwiseOptions options;
  const auto epochs = [&](double cool_down) {
    options.schedule.cool_down = cool_down;
    PlateauStopping policy(PriorBaselineOf(dataset.labels, nodes.train), options.schedule);
    std::vector<uint32_t> found;
    for (const SeedResult::Layer& layer :
         FitLayerwise(MakeContext(2), dataset, nodes, config, policy, options).trained.result.layers) {
      EXPECT_EQ(layer.stopped_by, "plateau");
      found.push_back(layer.epochs);
    }
    return found;
  };
  const std::vector<uint32_t> shorter = epochs(0.2), longer = epochs(1.5);
  EXPECT_EQ(shorter[0], longer[0]);
  EXPECT_EQ(shorter[1], longer[1]);
  EXPECT_LT(shorter[2], longer[2]);
}

// Held-out train nodes take part in the cool-down of the last layer: its last epochs have more steps than those before.
TEST(AutoRate, HeldOutNodesAreGivenBack) {
  const Dataset dataset = SmallDataset(false, false, 600);
  TrainConfig config = AutoConfig();
  const SplitNodes nodes(ResolveSplit(dataset, config.split, 0));
  config.hold_out = 0.1;
  config.batch = 1;
  config.epochs = {30};
  const Trained trained = Train(MakeContext(2), dataset, config);
  const uint64_t all = nodes.train.size(),
                 drawn = all - static_cast<uint64_t>(0.1 * static_cast<double>(all));
  const SeedResult::Layer& first = trained.result.layers[0];
  const SeedResult::Layer& last = trained.result.layers[1];
  EXPECT_EQ(first.steps, first.epochs * drawn);
  ASSERT_EQ(last.stopped_by, "plateau");
  EXPECT_GT(last.steps, last.epochs * drawn);
  EXPECT_LT(last.steps, last.epochs * all);
  EXPECT_EQ(last.kept_epoch, last.epochs);
}

}  // namespace
}  // namespace l2gcn
