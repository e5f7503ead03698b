#include "train/conventional_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "core/layer_parameters.h"
#include "l2gcn/error.h"
#include "small_dataset.h"
#include "train/layerwise_trainer.h"

namespace l2gcn {
namespace {

const std::vector<std::string>& Baselines() {
  static const std::vector<std::string> methods = {"gcn",    "minibatch",     "graphsage",  "fastgcn",
                                                   "ladies", "vrgcn",         "clustergcn", "sgc",
                                                   "ngcn",   "ngcn-layerwise"};
  return methods;
}

TrainConfig BaselineConfig(const std::string& method, const Dataset& dataset) {
  return ResolveConfig({{"preset", "paper"},
                        {"method", method},
                        {"split", "uniform:0.5,0.2,0.3"},
                        {"hidden", "16"},
                        {"epochs", "25"},
                        {"batch", "20"}},
                       dataset);
}

std::vector<float> AllWeights(const Model& model) {
  std::vector<float> values;
  const auto add = [&](const Matrix& from) {
    values.insert(values.end(), from.values.begin(), from.values.end());
  };
  add(model.theta), add(model.bias);
  for (const HiddenParameters& layer : model.layers) {
    for (const auto& [name, member] : kHiddenParts) add(layer.*member);
  }
  for (const auto& [name, w] : model.extra) add(w);
  return values;
}

bool Takes(const std::string& method, const char* setting) {
  const auto& takers = FindField(setting).methods;
  return std::find(takers.begin(), takers.end(), method) != takers.end();
}

// Three layers with everything that the method's layers may have; methods without a norm are left as they are.
void Deepen(HiddenNorm norm, TrainConfig& config) {
  if (!Takes(config.method, "hidden-norm")) return;
  config.layers = 3;
  config.samples.resize(1);
  config.hidden_norm = norm;
  config.bias = true;
  config.self_features = Takes(config.method, "self-features");
  config.input_dropout = 0.1;
}

TEST(ConventionalTrainer, SameModelForAnyThreadCount) {
  const Dataset dataset = SmallDataset(false, false, 900);
  for (const std::string& method : Baselines()) {
    TrainConfig config = BaselineConfig(method, dataset);
    config.epochs = {3};
    config.batch = 200;
    const std::vector<float> first = AllWeights(Train(MakeContext(1), dataset, config).model);
    for (uint32_t threads : {2u, 3u}) {
      EXPECT_EQ(first, AllWeights(Train(MakeContext(threads), dataset, config).model))
          << method << " " << threads;
    }
  }
}

TEST(ConventionalTrainer, EveryMethodLearnsAndItsModelSurvivesTheDisk) {
  for (bool sparse : {false, true}) {
    const Dataset dataset = SmallDataset(false, sparse);
    for (const std::string& method : Baselines()) {
      TrainConfig config = BaselineConfig(method, dataset);
      config.epochs = {60};
      Trained trained = Train(MakeContext(2), dataset, config);
      EvaluateTrained(MakeContext(2), dataset, trained);
      EXPECT_GT(trained.result.f1_test, 0.65) << method;
      const auto directory = std::filesystem::temp_directory_path() / ("l2gcn-conventional-" + method);
      std::filesystem::create_directories(directory);
      SaveModel(trained.model, directory.string());
      const Matrix before = PredictLogits(MakeContext(1), trained.model, dataset);
      const Matrix after = PredictLogits(MakeContext(1), LoadModel(directory.string()), dataset);
      EXPECT_EQ(std::memcmp(before.values.data(), after.values.data(), before.bytes()), 0) << method;
      std::filesystem::remove_all(directory);
    }
  }
}

TEST(ConventionalTrainer, DeepNetworksLearnOnAnyThreadCountAndSurviveTheDisk) {
  const Dataset dataset = SmallDataset();
  const auto directory = std::filesystem::temp_directory_path() / "l2gcn-deep";
  for (HiddenNorm norm : {HiddenNorm::kLayer, HiddenNorm::kBatch}) {
    for (const std::string& method : Baselines()) {
      TrainConfig config = BaselineConfig(method, dataset);
      Deepen(norm, config);
      if (config.layers == 2) continue;
      config.epochs = {60};
      Trained trained = Train(MakeContext(2), dataset, config);
      EXPECT_EQ(AllWeights(trained.model), AllWeights(Train(MakeContext(1), dataset, config).model))
          << method;
      EvaluateTrained(MakeContext(2), dataset, trained);
      EXPECT_GT(trained.result.f1_test, 0.65) << method;
      std::filesystem::create_directories(directory);
      SaveModel(trained.model, directory.string());
      const Model loaded = LoadModel(directory.string());
      EXPECT_EQ(AllWeights(trained.model), AllWeights(loaded)) << method;
      const Matrix before = PredictLogits(MakeContext(1), trained.model, dataset);
      const Matrix after = PredictLogits(MakeContext(1), loaded, dataset);
      EXPECT_EQ(std::memcmp(before.values.data(), after.values.data(), before.bytes()), 0) << method;
      EXPECT_EQ(Embed(MakeContext(1), loaded, dataset, 1).cols, 16u);
      std::filesystem::remove_all(directory);
    }
  }
}

// The loss of a full-batch step is that of the model's own predictions for the train nodes.
TEST(ConventionalTrainer, PredictsWhatItTrained) {
  for (bool sparse : {false, true}) {
    const Dataset dataset = SmallDataset(false, sparse);
    for (const char* method : {"gcn", "minibatch", "graphsage"}) {
      for (HiddenNorm norm : {HiddenNorm::kNone, HiddenNorm::kLayer}) {
        for (bool self_features : {false, true}) {
          TrainConfig config = BaselineConfig(method, dataset);
          Deepen(norm, config);
          config.self_features = self_features && Takes(method, "self-features");
          config.dropout = config.input_dropout = config.weight_decay = 0;
          config.transductive = true;
          config.batch = 1000, config.samples = {1000};
          const SplitNodes nodes = ResolveSplit(dataset, config.split, config.seed);
          std::vector<double> losses;
          FixedEpochs policy;
          config.epochs = {5};
          FitConventional(MakeContext(2), dataset, nodes, config, policy, &losses);
          config.epochs = {4};
          const Model model = FitConventional(MakeContext(2), dataset, nodes, config, policy).trained.model;
          const Matrix logits = PredictLogits(MakeContext(2), model, dataset);
          double loss = 0;
          for (uint32_t node : nodes.train) {
            double sum = 0;
            for (size_t c = 0; c < logits.cols; ++c) sum += std::exp(double{logits.row(node)[c]});
            loss += std::log(sum) - double{logits.row(node)[dataset.labels.classes_of[node]]};
          }
          EXPECT_NEAR(losses.back(), loss / static_cast<double>(nodes.train.size()), 1e-4)
              << method << (self_features ? " with self features" : "");
        }
      }
    }
  }
}

TEST(ConventionalTrainer, TestAndValidationLabelsAreNeverRead) {
  for (bool transductive : {false, true}) {
    Dataset dataset = SmallDataset();
    for (const std::string& method : Baselines()) {
      TrainConfig config = BaselineConfig(method, dataset);
      config.epochs = {3};
      config.transductive = transductive;
      const Trained before = Train(MakeContext(2), dataset, config);
      Dataset changed = dataset;
      changed.labels.classes_of = Array<int32_t>::CopyOf(dataset.labels.classes_of.span());
      for (uint32_t i = 0; i < dataset.nodes(); ++i) {
        const bool train = before.split.roles[i] == static_cast<uint8_t>(Role::kTrain);
        int32_t& label = changed.labels.classes_of.mutable_data()[i];
        if (!train && label >= 0) label = (label + 1) % 3;
      }
      EXPECT_EQ(AllWeights(before.model), AllWeights(Train(MakeContext(2), changed, config).model)) << method;
    }
  }
}

// One batch that holds every train node and all their neighbours is a full batch.
TEST(ConventionalTrainer, FullBatchEqualsMiniBatchWithAllNeighbours) {
  for (const char* setting : {"inductive", "transductive"}) {
    const Dataset dataset = SmallDataset();
    std::vector<double> losses[2];
    for (int i : {0, 1}) {
      TrainConfig config = BaselineConfig(i == 0 ? "gcn" : "minibatch", dataset);
      config.layers = 3;
      config.batch = 120;
      config.dropout = 0;
      FindField("setting").set(config, setting);
      const Split split = ResolveSplit(dataset, config.split, config.seed);
      FixedEpochs policy;
      FitConventional(MakeContext(2), dataset, split, config, policy, &losses[i]);
    }
    ASSERT_EQ(losses[0].size(), losses[1].size());
    for (size_t i = 0; i < losses[0].size(); ++i)
      EXPECT_NEAR(losses[0][i], losses[1][i], 2e-4 * losses[0][i]) << i;
  }
}

TEST(ConventionalTrainer, ValidationIsScoredOffTheClockAndEarlyStoppingWatchesIt) {
  const Dataset dataset = SmallDataset();
  for (const char* method : {"lgcn", "gcn", "sgc"}) {
    TrainConfig config = BaselineConfig(method, dataset);
    config.val_every = 5;
    const Trained trained = Train(MakeContext(2), dataset, config);
    ASSERT_EQ(trained.result.validation.size(), trained.result.layers.size() * 5) << method;
    double before = 0;
    for (const SeedResult::ValidationPoint& point : trained.result.validation) {
      EXPECT_GT(point.seconds, before);
      before = point.seconds;
    }
    const SeedResult::Seconds& seconds = trained.result.seconds;
    EXPECT_LE(before, seconds.aggregate + seconds.train + seconds.transform + 1e-3) << method;
    Trained evaluated = trained;
    EvaluateTrained(MakeContext(1), dataset, evaluated);
    EXPECT_NEAR(trained.result.validation.back().f1, evaluated.result.f1_val, 1e-6) << method;
  }
  TrainConfig config = BaselineConfig("gcn", dataset);
  config.epochs = {200};
  config.stop = StopRule::kEarly;
  config.watch = Watch::kValidationF1;
  config.patience = 8;
  const Trained early = Train(MakeContext(2), dataset, config);
  EXPECT_LT(early.result.layers[0].epochs, 200u);
  EXPECT_EQ(early.result.layers[0].stopped_by, "early stopping");
}

// Calls one epoch the best and goes on to a later one.
class BestAtEpoch final : public StopPolicy {
 public:
  void BeginLayer(const LayerView&) override {}
  uint32_t EpochsUntilDecision(uint32_t) const override { return 1; }
  Decision Decide(const Observation& seen) override { return {seen.epoch >= 7, -1, seen.epoch == 3}; }
  bool KeepsBest() const override { return true; }
  std::string Name() const override { return "test"; }
};

// Training on past the best epoch and going back leaves the weights of a training that ended there.
TEST(ConventionalTrainer, GoesBackToTheBestWeights) {
  const Dataset dataset = SmallDataset();
  for (const char* method : {"gcn", "graphsage", "ngcn", "ladies"}) {
    TrainConfig config = BaselineConfig(method, dataset);
    if (method == std::string("ladies")) Deepen(HiddenNorm::kBatch, config);
    const SplitNodes nodes = ResolveSplit(dataset, config.split, config.seed);
    BestAtEpoch policy;
    const Trained back = FitConventional(MakeContext(1), dataset, nodes, config, policy).trained;
    FixedEpochs fixed;
    config.epochs = {3};
    const Trained there = FitConventional(MakeContext(1), dataset, nodes, config, fixed).trained;
    EXPECT_EQ(AllWeights(back.model), AllWeights(there.model)) << method;
    EXPECT_EQ(back.result.layers[0].epochs, 7u);
    EXPECT_EQ(back.result.layers[0].kept_epoch, 3u);
    config.epochs = {7};
    EXPECT_NE(AllWeights(back.model),
              AllWeights(FitConventional(MakeContext(1), dataset, nodes, config, fixed).trained.model))
        << method;
  }
}

TEST(ConventionalTrainer, CudaIsRefusedClearly) {
  const Dataset dataset = SmallDataset();
  Context context = MakeContext(1);
  context.device = DeviceKind::kCuda;
  try {
    Train(context, dataset, BaselineConfig("graphsage", dataset));
    FAIL() << "trained";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("graphsage"), std::string::npos);
  }
}

}  // namespace
}  // namespace l2gcn
