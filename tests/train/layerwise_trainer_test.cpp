#include "train/layerwise_trainer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.h"
#include "graph/normalise.h"
#include "kernels/reference.h"
#include "l2gcn/error.h"
#include "same_model.h"
#include "small_dataset.h"
#include "train/initialise.h"

namespace l2gcn {
namespace {

TEST(LayerwiseTrainer, SameModelForAnyThreadCountAndForTwoRuns) {
  for (bool sparse : {false, true}) {
    const Dataset dataset = SmallDataset(false, sparse, 900);
    TrainConfig config = SmallConfig();
    config.hidden = {64};
    config.batch = 300;
    config.dropout = 0.2;
    const Trained first = Train(MakeContext(1), dataset, config);
    for (uint32_t threads : {1u, 2u, 3u, 4u}) {
      EXPECT_TRUE(SameModel(first.model, Train(MakeContext(threads), dataset, config).model)) << threads;
    }
  }
}

TEST(LayerwiseTrainer, TestAndValidationLabelsAreNeverRead) {
  for (bool multilabel : {false, true}) {
    Dataset dataset = SmallDataset(multilabel);
    const TrainConfig config = SmallConfig();
    const Trained before = Train(MakeContext(2), dataset, config);
    Labels& labels = dataset.labels;
    for (uint32_t i = 0; i < dataset.nodes(); ++i) {
      if (before.split.roles[i] == static_cast<uint8_t>(Role::kTrain)) continue;
      if (multilabel) {
        for (uint32_t c = 0; c < 3; ++c) labels.matrix.mutable_data()[i * 3 + c] ^= 1;
      } else if (labels.classes_of[i] >= 0) {
        labels.classes_of.mutable_data()[i] = (labels.classes_of[i] + 1) % 3;
      }
    }
    const Trained after = Train(MakeContext(2), dataset, config);
    EXPECT_TRUE(SameModel(before.model, after.model));
  }
}

// The inductive model must not change when everything outside the train nodes does: features, edges, labels.
TEST(LayerwiseTrainer, InductiveTrainingSeesOnlyTheTrainSubgraph) {
  Dataset dataset = SmallDataset();
  const TrainConfig config = SmallConfig();
  const Trained before = Train(MakeContext(1), dataset, config);
  const auto is_train = [&](uint32_t i) {
    return before.split.roles[i] == static_cast<uint8_t>(Role::kTrain);
  };
  std::vector<uint32_t> source, target;
  Matrix disturbed = dataset.features.matrix();
  for (uint32_t i = 0; i < dataset.nodes(); ++i) {
    for (uint64_t e = dataset.graph.indptr[i]; e < dataset.graph.indptr[i + 1]; ++e) {
      if (is_train(i) && is_train(dataset.graph.indices[e])) {
        source.push_back(i);
        target.push_back(dataset.graph.indices[e]);
      }
    }
    if (!is_train(i)) {
      for (size_t j = 0; j < disturbed.cols; ++j) disturbed.mutable_row(i)[j] = 1e6f;
    }
  }
  dataset.features = Features::Dense(std::move(disturbed));
  dataset.graph = BuildGraph(MakeContext(1), dataset.nodes(), source, target, {}, {}).graph;
  EXPECT_TRUE(SameModel(before.model, Train(MakeContext(1), dataset, config).model));
}

// Whole trainings against the reference formulas, inductive and transductive, Θ kept and fresh.
TEST(LayerwiseTrainer, MatchesTheReferenceThroughTwoLayers) {
  const Context context = MakeContext(2);
  for (const char* setting : {"inductive", "transductive"}) {
    for (const char* theta : {"keep", "fresh"}) {
      const Dataset dataset = SmallDataset();
      TrainConfig config = SmallConfig();
      FindField("setting").set(config, setting);
      FindField("theta").set(config, theta);
      config.hidden = {16};
      const Split split = ResolveSplit(dataset, config.split, config.seed);
      const std::vector<uint32_t> train = NodesWithRole(split, Role::kTrain);
      std::vector<double> steps, expected;
      FixedEpochs policy;
      FitLayerwise(context, dataset, split, config, policy, {.step_losses = &steps});

      const bool inductive = std::string(setting) == "inductive";
      const Graph graph = inductive ? InducedSubgraph(context, dataset.graph, train) : dataset.graph;
      const Propagation a = MakePropagation(context, graph, Adjacency::kRowPlusI);
      Targets targets;
      targets.classes = 3;
      targets.classes_of = Array<int32_t>::Allocate(train.size());
      for (size_t i = 0; i < train.size(); ++i) {
        targets.classes_of.mutable_data()[i] = dataset.labels.classes_of[train[i]];
      }
      reference::Dense x(dataset.features.matrix());
      for (uint32_t layer = 0; layer < 2; ++layer) {
        const bool map = inductive && layer == 0;
        const reference::Dense xhat = reference::Aggregate(a, x, map ? train : std::vector<uint32_t>{});
        LayerState state;
        state.Add("weight",
                  InitialWeights(xhat.cols, 16, /*xavier=*/false, RandomStream(0, RandomUse::kInitW, layer)));
        state.Add("classifier",
                  InitialWeights(16, 3, /*xavier=*/false, RandomStream(0, RandomUse::kInitTheta, layer)));
        reference::Layer oracle(state);
        static thread_local reference::Dense kept, kept_m, kept_v;
        static thread_local uint64_t kept_steps;
        if (layer == 1 && std::string(theta) == "keep") {
          oracle.theta = kept;
          oracle.theta_m = kept_m;
          oracle.theta_v = kept_v;
          oracle.theta_steps = kept_steps;
        }
        LayerSpec spec;
        spec.layer = layer;
        spec.batch = config.batch;
        spec.lr = static_cast<float>(*config.lr);
        for (uint32_t epoch = 0; epoch < 12; ++epoch) {
          const auto more =
              oracle.RunEpoch(xhat, inductive ? std::vector<uint32_t>{} : train, targets, spec, epoch);
          expected.insert(expected.end(), more.begin(), more.end());
        }
        kept = oracle.theta;
        kept_m = oracle.theta_m;
        kept_v = oracle.theta_v;
        kept_steps = oracle.theta_steps + oracle.steps;
        x = reference::Transform(xhat, oracle.w);
      }
      ASSERT_EQ(steps.size(), expected.size());
      for (size_t i = 0; i < steps.size(); ++i) {
        ASSERT_NEAR(steps[i], expected[i], 1e-4 * expected[i]) << setting << " " << theta << " step " << i;
      }
    }
  }
}

TEST(LayerwiseTrainer, AnyDepthAndWidthAndBothLosses) {
  for (bool multilabel : {false, true}) {
    const Dataset dataset = SmallDataset(multilabel);
    TrainConfig config = SmallConfig();
    config.layers = 4;
    config.hidden = {7, 33, 16, 5};
    config.epochs = {3, 1, 2, 4};
    const Trained trained = Train(MakeContext(2), dataset, config);
    ASSERT_EQ(trained.model.layers.size(), 4u);
    EXPECT_EQ(trained.model.layers[1].weight.rows, 7u);
    EXPECT_EQ(trained.model.layers[1].weight.cols, 33u);
    EXPECT_EQ(trained.model.theta.rows, 5u);
    EXPECT_EQ(trained.result.layers[3].epochs, 4u);
    const Matrix logits = PredictLogits(MakeContext(2), trained.model, dataset);
    EXPECT_EQ(logits.rows, dataset.nodes());
    for (float value : logits.values) ASSERT_TRUE(std::isfinite(value));
  }
}

TEST(LayerwiseTrainer, LearnsAndEarlyStoppingKeepsTheBestValidation) {
  const Dataset dataset = SmallDataset();
  TrainConfig config = SmallConfig();
  config.epochs = {60};
  Trained fixed = Train(MakeContext(2), dataset, config);
  EvaluateTrained(MakeContext(2), dataset, fixed);
  EXPECT_GT(fixed.result.f1_test, 0.9);
  config.stop = StopRule::kEarly;
  config.watch = Watch::kValidationF1;
  config.patience = 5;
  Trained early = Train(MakeContext(2), dataset, config);
  EvaluateTrained(MakeContext(2), dataset, early);
  EXPECT_LT(early.result.layers[0].epochs, 60u);
  EXPECT_EQ(early.result.layers[0].stopped_by, "early stopping");
  EXPECT_GT(early.result.f1_val, 0.9);
}

// Calls one epoch of each layer the best and goes on to a later one.
class BestAt final : public StopPolicy {
 public:
  BestAt(uint32_t best, uint32_t stop) : best_(best), stop_(stop) {}
  void BeginLayer(const LayerView&) override {}
  uint32_t EpochsUntilDecision(uint32_t) const override { return 1; }
  Decision Decide(const Observation& seen) override { return {seen.epoch >= stop_, -1, seen.epoch == best_}; }
  bool KeepsBest() const override { return true; }
  std::string Name() const override { return "test"; }

 private:
  uint32_t best_, stop_;
};

// Training on past the best epoch and going back leaves the weights of a training that ended there.
TEST(LayerwiseTrainer, GoesBackToTheBestWeights) {
  const Dataset dataset = SmallDataset();
  TrainConfig config = SmallConfig();
  config.epochs = {12};
  config.fresh_theta = true;
  const Split split = ResolveSplit(dataset, config.split, config.seed);
  BestAt policy(4, 9);
  const Trained back = FitLayerwise(MakeContext(1), dataset, split, config, policy).trained;
  config.epochs = {4};
  FixedEpochs fixed;
  const Trained there = FitLayerwise(MakeContext(1), dataset, split, config, fixed).trained;
  EXPECT_TRUE(SameModel(back.model, there.model));
  for (const SeedResult::Layer& layer : back.result.layers) {
    EXPECT_EQ(layer.epochs, 9u);
    EXPECT_EQ(layer.kept_epoch, 4u);
    EXPECT_EQ(layer.stopped_by, "test");
  }
  config.epochs = {9};
  const Trained on = FitLayerwise(MakeContext(1), dataset, split, config, fixed).trained;
  EXPECT_FALSE(SameModel(back.model, on.model));
}

// --val-every and a policy that watches the validation nodes share one score an epoch.
TEST(LayerwiseTrainer, AnEpochIsScoredOnce) {
  const Dataset dataset = SmallDataset();
  TrainConfig config = SmallConfig();
  config.stop = StopRule::kEarly;
  config.watch = Watch::kValidationF1;
  config.patience = 100;
  const Trained watched = Train(MakeContext(1), dataset, config);
  config.val_every = 2;
  const Trained both = Train(MakeContext(1), dataset, config);
  ASSERT_EQ(watched.result.validation.size(), config.layers * 12u);
  ASSERT_EQ(both.result.validation.size(), config.layers * 12u);
  for (size_t i = 0; i < both.result.validation.size(); ++i) {
    EXPECT_EQ(both.result.validation[i].epoch, watched.result.validation[i].epoch);
    EXPECT_EQ(both.result.validation[i].f1, watched.result.validation[i].f1);
  }
  EXPECT_TRUE(SameModel(watched.model, both.model));
}

TEST(LayerwiseTrainer, NoTrainNodeIsAnErrorAndAnAbsentClassAWarning) {
  Dataset dataset = SmallDataset();
  Split split = ResolveSplit(dataset, "random:0.5,0.2,0.3", 0);
  std::vector<std::string> warnings;
  Context context = MakeContext(1);
  context.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  for (uint32_t i = 0; i < dataset.nodes(); ++i) {
    if (dataset.labels.classes_of[i] == 2) split.roles.mutable_data()[i] = 0;
  }
  CheckTrainSplit(context, dataset, split);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("blue"), std::string::npos);
  for (uint32_t i = 0; i < dataset.nodes(); ++i) split.roles.mutable_data()[i] = 0;
  EXPECT_THROW(CheckTrainSplit(context, dataset, split), Error);
}

}  // namespace
}  // namespace l2gcn
