#include "train/conventional_trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

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
  std::vector<float> values(model.theta.values.begin(), model.theta.values.end());
  for (const Matrix& w : model.weights) values.insert(values.end(), w.values.begin(), w.values.end());
  for (const auto& [name, w] : model.extra) values.insert(values.end(), w.values.begin(), w.values.end());
  return values;
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

TEST(ConventionalTrainer, TestAndValidationLabelsAreNeverRead) {
  for (bool transductive : {false, true}) {
    Dataset dataset = SmallDataset();
    for (const std::string& method : Baselines()) {
      TrainConfig config = BaselineConfig(method, dataset);
      config.epochs = {3};
      config.setting = transductive ? Setting::kTransductive : Setting::kInductive;
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
    for (const ValidationPoint& point : trained.result.validation) {
      EXPECT_GT(point.seconds, before);
      before = point.seconds;
    }
    const PhaseSeconds& seconds = trained.result.seconds;
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
  for (const char* method : {"gcn", "graphsage", "ngcn"}) {
    TrainConfig config = BaselineConfig(method, dataset);
    const SplitNodes nodes = ResolveSplit(dataset, config.split, config.seed);
    BestAtEpoch policy;
    const Trained back = FitConventional(MakeContext(1), dataset, nodes, config, policy);
    FixedEpochs fixed;
    config.epochs = {3};
    const Trained there = FitConventional(MakeContext(1), dataset, nodes, config, fixed);
    EXPECT_EQ(AllWeights(back.model), AllWeights(there.model)) << method;
    EXPECT_EQ(back.result.layers[0].epochs, 7u);
    EXPECT_EQ(back.result.layers[0].kept_epoch, 3u);
    config.epochs = {7};
    EXPECT_NE(AllWeights(back.model),
              AllWeights(FitConventional(MakeContext(1), dataset, nodes, config, fixed).model))
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
