// Training through the public headers alone: a policy of the caller's, callbacks, cancellation, saving from
// memory and opening again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/ring.h"
#include "l2gcn/error.h"
#include "l2gcn/train.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

class TrainingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("l2gcn-api-" + std::to_string(getpid()));
    fs::remove_all(folder_);
    config_ = ResolveConfig(
        {{"preset", "paper"}, {"method", "lgcn"}, {"hidden", "8"}, {"epochs", "12"}, {"lr", "0.02"}},
        dataset_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Path(const char* name) const { return (folder_ / name).string(); }
  static std::string Bytes(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return (std::stringstream() << file.rdbuf()).str();
  }

  const Context context_ = MakeContext(2);
  const Dataset dataset_ = Ring().Make(context_);
  TrainConfig config_;
  fs::path folder_;
};

// Stops every layer after its third epoch.
class StopAtThree final : public StopPolicy {
 public:
  void BeginLayer(const LayerView& view) override { layers.push_back(view.layer); }
  uint32_t EpochsUntilDecision(uint32_t) const override { return 0; }  // counts as 1
  Decision Decide(const Observation& observation) override {
    EXPECT_EQ(observation.losses.size(), observation.epoch);
    return {observation.epoch == 3, 0.25};
  }
  std::string Name() const override { return "three"; }
  std::vector<uint32_t> layers;
};

TEST_F(TrainingTest, ACallersPolicyStopsLayers) {
  StopAtThree policy;
  const Trained trained = Train(context_, dataset_, config_, policy);
  EXPECT_EQ(policy.layers, (std::vector<uint32_t>{0, 1}));
  for (const SeedResult::Layer& layer : trained.result.layers) {
    EXPECT_EQ(layer.epochs, 3u);
    EXPECT_EQ(layer.stopped_by, "three");
    ASSERT_EQ(layer.probabilities.size(), 3u);
    EXPECT_EQ(layer.probabilities[2], (std::pair<uint32_t, double>{3, 0.25}));
  }
}

TEST_F(TrainingTest, AWatcherSeesEveryDecisionAndMayStop) {
  config_.stop = StopRule::kEarly;
  config_.patience = 100;
  RunOptions options;
  options.write = false;
  options.runs = 2;
  uint32_t decisions = 0;
  options.on_decision = [&](const LayerView& view, const Observation& observation, Decision& decision) {
    ++decisions;
    if (view.layer == 1 && observation.epoch == 5) decision.stop = true;
  };
  const TrainResult result = RunTraining(context_, dataset_, config_, options);
  EXPECT_EQ(decisions, 2 * (12u + 5u));
  for (const SeedResult& seed : result.seeds) {
    EXPECT_EQ(seed.layers[0].stopped_by, "budget");
    EXPECT_EQ(seed.layers[1].stopped_by, "callback");
  }
}

TEST_F(TrainingTest, WhatAWatcherThrowsReachesTheCaller) {
  RunOptions options;
  options.write = false;
  options.on_decision = [](const LayerView&, const Observation&, Decision&) {
    throw Error(ErrorKind::kUsage, "thrown by a callback");
  };
  EXPECT_THROW(RunTraining(context_, dataset_, config_, options), Error);
}

TEST_F(TrainingTest, ProgressAndCancellation) {
  Context context = context_;
  std::atomic<bool> cancel{false};
  context.cancel = &cancel;
  uint32_t reports = 0;
  context.on_progress = [&](const Progress& progress) {
    reports += progress.epoch > 0;
    if (progress.epoch >= 2) cancel = true;
  };
  try {
    Train(context, dataset_, config_);
    FAIL() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCancelled);
  }
  EXPECT_GT(reports, 0u);
}

TEST_F(TrainingTest, ASavedModelPredictsTheSame) {
  const Trained trained = Train(context_, dataset_, config_);
  SaveModel(trained.model, Path("deep/er/model"));
  const OpenedRun opened = OpenRun(Path("deep/er/model"));
  EXPECT_FALSE(opened.knows_data);
  const Matrix before = PredictLogits(context_, trained.model, dataset_);
  const Matrix after = PredictLogits(context_, opened.model, dataset_);
  EXPECT_TRUE(
      std::equal(before.values.begin(), before.values.end(), after.values.begin(), after.values.end()));
  EXPECT_EQ(Embed(context_, opened.model, dataset_, 1).cols, 8u);
  EXPECT_THROW(OpenRun(Path("deep/er/model"), 3), Error);
  EXPECT_THROW(OpenRun(Path("deep")), Error);
}

TEST_F(TrainingTest, RunsAreSavedFromMemory) {
  std::vector<Trained> trained;
  for (uint64_t seed = 4; seed < 6; ++seed) {
    config_.seed = seed;
    trained.push_back(Train(context_, dataset_, config_));
    EvaluateTrained(context_, dataset_, trained.back());
  }
  RunOptions options;
  options.output = Path("saved");
  const TrainResult result = SaveRun(context_, dataset_, trained, options);
  EXPECT_EQ(result.seeds.size(), 2u);
  EXPECT_EQ(result.seeds[0].f1_test, trained[0].result.f1_test);
  EXPECT_GT(result.seeds[0].f1_test, 0.5);
  config_.seed = 4;
  options.output = Path("direct");
  options.runs = 2;
  RunTraining(context_, dataset_, config_, options);
  for (const char* seed : {"seed-4", "seed-5"}) {
    EXPECT_EQ(Bytes(folder_ / "saved" / seed / "model.safetensors"),
              Bytes(folder_ / "direct" / seed / "model.safetensors"));
  }
  const OpenedRun opened = OpenRun(Path("saved"), 5);
  EXPECT_FALSE(opened.knows_data);  // arrays cannot be opened again
  EXPECT_EQ(opened.model.config.seed, 5u);
  trained[1].result.seed = 4;
  options.output = Path("twice");
  EXPECT_THROW(SaveRun(context_, dataset_, trained, options), Error);
  EXPECT_THROW(SaveRun(context_, dataset_, {}, options), Error);
}

TEST_F(TrainingTest, DecisionsFollowFromLogitsAndThresholds) {
  Model model = Train(context_, dataset_, config_).model;
  const Matrix logits = PredictLogits(context_, model, dataset_);
  const Array<int32_t> classes = DecideClasses(model, logits);
  ASSERT_EQ(classes.size(), size_t{Ring::kNodes});
  for (uint32_t node = 0; node < Ring::kNodes; ++node) {
    for (uint32_t c = 0; c < Ring::kClasses; ++c)
      EXPECT_LE(logits.row(node)[c], logits.row(node)[classes[node]]);
  }
  EXPECT_THROW(DecideLabels(model, logits), Error);
  EXPECT_THROW(DecideClasses(model, Matrix::Zeros(2, 7)), Error);

  model.multilabel = true;
  model.thresholds = {0.25, 0.5, 0.75};
  Matrix probabilities = logits.Clone();
  LogitsToProbabilities(probabilities, true);
  const Array<uint8_t> labels = DecideLabels(model, logits);
  for (size_t i = 0; i < labels.size(); ++i)
    EXPECT_EQ(labels[i] != 0, probabilities.values[i] > model.thresholds[i % Ring::kClasses]) << i;
  EXPECT_THROW(DecideClasses(model, logits), Error);
}

TEST_F(TrainingTest, AModelTellsItsForm) {
  const auto form_of = [&](const char* method) {
    Model model;
    model.config.method = method;
    return FormulaOf(model);
  };
  EXPECT_EQ(form_of("lgcn").aggregation, "normalised");
  EXPECT_EQ(form_of("lgcn").prediction_head, "classifier");
  EXPECT_EQ(form_of("gcn").prediction_head, "last-layer");
  EXPECT_EQ(form_of("sgc").prediction_head, "hops");
  EXPECT_EQ(form_of("ngcn").prediction_head, "joined-powers");
  EXPECT_EQ(form_of("clustergcn").aggregation, "enhanced-diagonal");
  EXPECT_EQ(form_of("graphsage").aggregation, "neighbour-mean");
  EXPECT_TRUE(form_of("graphsage").own_beside);
  EXPECT_FALSE(form_of("gcn").own_beside);
}

}  // namespace
}  // namespace l2gcn
