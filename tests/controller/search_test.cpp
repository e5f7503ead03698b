#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "controller/controller_impl.h"
#include "controller/learned_stop.h"
#include "controller/rollout_tree.h"
#include "core/files.h"
#include "l2gcn/controller.h"
#include "l2gcn/error.h"
#include "l2gcn/train.h"
#include "run/job.h"
#include "run/train_seed.h"
#include "train/layerwise_trainer.h"
#include "train/small_dataset.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

const Overrides kTraining = {
    {"hidden", "16"}, {"epochs", "12"}, {"lr", "0.02"}, {"split", "random:0.5,0.2,0.3"}};

SearchConfig SmallSearch(const std::string& kind) {
  SearchConfig config;
  config.kind = kind == "paper" ? SearchConfig::Kind::kPaper : SearchConfig::Kind::kGeneral;
  config.rounds = 12;
  config.warmup = 6;
  config.nodes = 40;
  config.problems = 3;
  config.rollouts = 4;
  config.interval = 4;
  config.decisions = 5;
  config.batch = {SearchConfig::Batch::Kind::kNodes, 16};
  return config;
}

std::vector<double> Learned(const SearchConfig& config, uint32_t threads,
                            const std::atomic<bool>* cancel = nullptr,
                            const std::function<void(const Progress&)>& on_progress = {}) {
  std::vector<Dataset> datasets = {SmallDataset()};
  if (config.kind == SearchConfig::Kind::kGeneral) datasets.push_back(SmallDataset(true));
  Context context = MakeContext(threads);
  context.cancel = cancel;
  context.on_progress = on_progress;
  return SearchController(context, datasets, config, kTraining).impl().net.weights();
}

TEST(Search, SameControllerForAnyThreadCount) {
  for (const char* kind : {"paper", "general"}) {
    SearchConfig config = SmallSearch(kind);
    if (config.kind == SearchConfig::Kind::kGeneral) config.reward = SearchConfig::Reward::kF1;
    const std::vector<double> one = Learned(config, 1);
    EXPECT_EQ(one, Learned(config, 2)) << kind;
    EXPECT_EQ(one, Learned(config, 3)) << kind;
  }
}

TEST(Search, AnInterruptedSearchResumesBitForBit) {
  const fs::path state = fs::temp_directory_path() / ("l2gcn-search-" + std::to_string(getpid()) + ".json");
  for (const char* kind : {"paper", "general"}) {
    const SearchConfig config = SmallSearch(kind);
    const std::vector<double> whole = Learned(config, 2);
    SearchConfig kept = config;
    kept.state_path = state.string();
    kept.save_every = 0;
    std::atomic<bool> cancel{false};
    EXPECT_THROW(Learned(kept, 2, &cancel, [&](const Progress& p) { cancel = p.epoch >= 7; }), Error);
    ASSERT_TRUE(fs::exists(state));
    // Earlier versions stored evaluation-split as "judge".
    std::string stored = ReadTextFile(state);
    const std::string name = "\"evaluation-split\"";
    ASSERT_NE(stored.find(name), std::string::npos);
    WriteFileWhole(state, stored.replace(stored.find(name), name.size(), "\"judge\""));
    kept.resume = true;
    EXPECT_EQ(whole, Learned(kept, 2)) << kind;
    SearchConfig other = kept;
    other.lr = 0.5;
    EXPECT_THROW(Learned(other, 2), Error);
    fs::remove(state);
  }
}

// What the tree says of stops (a, b) is what training with those epochs gives, in either setting and with
// smoothed features.
TEST(RolloutTree, AgreesWithTheTrainer) {
  const Dataset dataset = SmallDataset();
  for (const char* setting : {"inductive", "transductive"}) {
    for (uint32_t smooth : {0u, 2u}) {
      TrainConfig config = SmallConfig();
      config.hidden = {16};
      config.epochs = {16};
      FindField("setting").set(config, setting);
      config.smooth = smooth;
      const Split split = ResolveSplit(dataset, config.split, config.seed);
      RolloutTree tree(MakeContext(1), dataset, config, NodesWithRole(split, Role::kTrain),
                       NodesWithRole(split, Role::kVal));
      const LayerTrace& first = tree.Trace({});
      const LayerTrace& second = tree.Trace({4});
      ASSERT_EQ(first.decisions.size(), 16u);
      config.epochs = {first.decisions[4], second.decisions[9]};
      Trained trained = Train(MakeContext(1), dataset, config);
      EvaluateTrained(MakeContext(1), dataset, trained);
      EXPECT_EQ(trained.result.layers[0].losses.back(), first.losses[first.decisions[4] - 1]);
      EXPECT_EQ(trained.result.layers[1].losses.back(), second.losses[second.decisions[9] - 1]);
      EXPECT_NEAR(trained.result.f1_val, second.f1[9], 1e-12) << setting << " " << smooth;
    }
  }
}

// --smooth and --setting reach the trainings of a search of either kind.
TEST(Search, HonoursSmoothingAndSetting) {
  for (const char* kind : {"paper", "general"}) {
    const SearchConfig config = SmallSearch(kind);
    const auto losses = [&](const Overrides& more) {
      Overrides training = kTraining;
      training.insert(training.end(), more.begin(), more.end());
      SearchResult result;
      SearchController(MakeContext(2), {SmallDataset()}, config, training, &result);
      std::vector<double> costs;
      for (const SearchResult::Round& round : result.curve) costs.push_back(round.cost);
      return costs;
    };
    const std::vector<double> plain = losses({});
    EXPECT_EQ(plain, losses({{"smooth", "0"}, {"setting", "inductive"}})) << kind;
    EXPECT_NE(plain, losses({{"smooth", "2"}})) << kind;
    EXPECT_NE(plain, losses({{"setting", "transductive"}})) << kind;
  }
}

// Stops each layer at a fixed decision of the general controller and goes back as that one does.
class StopAt final : public StopPolicy {
 public:
  explicit StopAt(std::vector<uint32_t> decisions) : decisions_(std::move(decisions)) {}
  void BeginLayer(const LayerView& view) override {
    view_ = view;
    best_ = {};
  }
  uint32_t EpochsUntilDecision(uint32_t) const override { return GeneralInterval(view_.budget); }
  Decision Decide(const Observation& seen) override {
    const bool stop = seen.epoch >= (decisions_[view_.layer] + 1) * GeneralInterval(view_.budget);
    return {stop, -1, best_.Offer(seen.validation)};
  }
  bool WantsValidation() const override { return true; }
  bool KeepsBest() const override { return true; }
  std::string Name() const override { return "test"; }

 private:
  std::vector<uint32_t> decisions_;
  LayerView view_;
  BestDecision best_;
};

// With nodes to show, the tree goes back to the best decision's weights as the trainer does.
TEST(RolloutTree, KeepsTheWeightsTheTrainerKeeps) {
  const Dataset dataset = SmallDataset();
  TrainConfig config = SmallConfig();
  config.hidden = {16};
  config.epochs = {32};
  config.lr = 0.05;
  const Split split = ResolveSplit(dataset, config.split, config.seed);
  RolloutTree tree(MakeContext(1), dataset, config, NodesWithRole(split, Role::kTrain),
                   NodesWithRole(split, Role::kTest), NodesWithRole(split, Role::kVal));
  bool went_back = false;
  for (const std::vector<uint32_t>& stops : {std::vector<uint32_t>{15, 15}, {3, 9}, {9, 0}, {0, 15}}) {
    StopAt policy(stops);
    Trained trained = FitLayerwise(MakeContext(1), dataset, split, config, policy).trained;
    EvaluateTrained(MakeContext(1), dataset, trained);
    const LayerTrace& first = tree.Trace({});
    const LayerTrace& second = tree.Trace({stops[0]});
    EXPECT_EQ(trained.result.layers[0].kept_epoch, first.decisions[first.kept[stops[0]]]);
    EXPECT_EQ(trained.result.layers[1].kept_epoch, second.decisions[second.kept[stops[1]]]);
    EXPECT_EQ(trained.result.layers[1].losses.back(), second.losses[second.decisions[stops[1]] - 1]);
    EXPECT_NEAR(trained.result.f1_test, second.f1[stops[1]], 1e-12);
    went_back |= first.kept[stops[0]] != stops[0];
  }
  EXPECT_TRUE(went_back);
}

// The controller that sees validation nodes needs some; without, the shipped one sees losses alone.
TEST(LearnedStop, WithoutValidationNodesTheShippedOneSeesLosses) {
  const Dataset dataset = SmallDataset();
  TrainConfig config = SmallConfig();
  config.method = "l2gcn";
  EXPECT_TRUE(MakeStopPolicy(MakeJob(MakeContext(1), dataset, config))->WantsValidation());
  config.split = "random:0.6,0,0.4";
  EXPECT_FALSE(MakeStopPolicy(MakeJob(MakeContext(1), dataset, config))->WantsValidation());
  const Trained trained = Train(MakeContext(1), dataset, config);
  EXPECT_FALSE(trained.result.layers[0].probabilities.empty());

  const fs::path file = fs::temp_directory_path() / ("l2gcn-controller-" + std::to_string(getpid()));
  Controller::Shipped("general").Save(file.string());
  config.controller_file = file.string();
  try {
    MakeStopPolicy(MakeJob(MakeContext(1), dataset, config));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("--sees loss"), std::string::npos) << error.what();
  }
  fs::remove(file);
}

// Even a controller that would always stop waits until the training loss is below the prior loss. A validation
// loss above it does not matter.
TEST(LearnedStop, DoesNotStopBeforeAnythingIsLearnt) {
  ControllerImpl eager = Controller::Shipped("general").impl();
  eager.threshold = 0;
  const Controller controller(std::make_shared<ControllerImpl>(eager));
  const auto policy = MakeLearnedStop(controller, 2.0);
  policy->BeginLayer({0, 2, 80, 0});
  std::vector<double> losses = {2.0, 1.99};
  EXPECT_FALSE(policy->Decide({2, losses, {0.1, 1.5}}).stop);
  losses.push_back(1.0);
  EXPECT_TRUE(policy->Decide({3, losses, {0.5, 2.5}}).stop);
}

TEST(LearnedStop, UsesProbabilitiesAndAnyNumberOfLayers) {
  const Dataset dataset = SmallDataset();
  TrainConfig config = SmallConfig();
  config.method = "l2gcn";
  for (uint32_t layers : {1u, 2u, 5u}) {
    config.layers = layers;
    config.hidden = {16};
    config.epochs = {32};
    const Trained trained = Train(MakeContext(1), dataset, config);
    for (const SeedResult::Layer& layer : trained.result.layers) {
      ASSERT_FALSE(layer.probabilities.empty());
      EXPECT_LE(layer.epochs, 32u);
      EXPECT_EQ(layer.probabilities.front().first, 2u);  // every 1/16 of the budget
    }
  }
}

TEST(LearnedStop, PaperKindRefusesAnotherDepthAndKeepsItsLimits) {
  const Dataset dataset = SmallDataset();
  SearchConfig search = SmallSearch("paper");
  search.min_epochs = 6;
  search.max_epochs = 9;
  const Controller controller = SearchController(MakeContext(1), {dataset}, search, kTraining);
  TrainConfig config = SmallConfig();
  config.epochs = {40};
  config.hidden = {16};
  const Split split = ResolveSplit(dataset, config.split, 0);
  auto policy = MakeLearnedStop(controller, 1.0);
  const Trained trained = FitLayerwise(MakeContext(1), dataset, split, config, *policy).trained;
  for (const SeedResult::Layer& layer : trained.result.layers) {
    EXPECT_GT(layer.epochs, 6u);
    EXPECT_LE(layer.epochs, 9u + search.interval);
  }
  config.layers = 3;
  auto other = MakeLearnedStop(controller, 1.0);
  EXPECT_THROW(FitLayerwise(MakeContext(1), dataset, split, config, *other), Error);
}

// The guard of training holds in the search, too: where nothing is learned no episode ends before its budget of
// 24 epochs, though the untaught policy would stop at one decision in eight.
TEST(Search, StopsNothingBeforeAnythingIsLearnt) {
  Overrides training = kTraining;
  training[2] = {"lr", "1e-9"};
  SearchConfig config = SmallSearch("general");
  config.batch = {SearchConfig::Batch::Kind::kNodes, 40};
  SearchResult result;
  SearchController(MakeContext(1), {SmallDataset()}, config, training, &result);
  for (const SearchResult::Round& round : result.curve) EXPECT_EQ(round.epochs, 24) << round.round;
}

TEST(Search, BadSettingsAreUsageErrors) {
  const Context context = MakeContext(1);
  EXPECT_THROW(SearchController(context, {}, SmallSearch("general"), kTraining), Error);
  EXPECT_THROW(SearchController(context, {SmallDataset(), SmallDataset()}, SmallSearch("paper"), kTraining),
               Error);
  SearchConfig narrow = SmallSearch("paper");
  narrow.hidden = 3;
  EXPECT_THROW(SearchController(context, {SmallDataset()}, narrow, kTraining), Error);
}

TEST(Search, SaysWhichNodesAreMissing) {
  const auto refusal = [](const SearchConfig& config, const char* split) -> std::string {
    Overrides training = kTraining;
    training.back().second = split;
    try {
      SearchController(MakeContext(1), {SmallDataset()}, config, training);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  SearchConfig config = SmallSearch("general");
  EXPECT_NE(refusal(config, "random:0.6,0,0.4").find("--sees loss"), std::string::npos);
  config.sees = SearchConfig::Sees::kLoss;
  EXPECT_EQ(refusal(config, "random:0.6,0,0.4"), "");
  config.reward = SearchConfig::Reward::kF1;
  EXPECT_NE(refusal(config, "random:0.6,0,0.4").find("no validation node to score"), std::string::npos);
  config.evaluation_split = SearchConfig::EvaluationSplit::kTest;
  EXPECT_EQ(refusal(config, "random:0.6,0,0.4"), "");
  EXPECT_NE(refusal(config, "random:0.6,0.4,0").find("no test node to score"), std::string::npos);
}

// Drawing samples and playing rounds both report.
TEST(Search, ReportsProgressFromTheFirstSampleOn) {
  std::vector<std::string> phases;
  Learned(SmallSearch("general"), 1, nullptr, [&](const Progress& p) { phases.push_back(p.phase); });
  ASSERT_EQ(phases.size(), 2u * 3 + 12);
  EXPECT_EQ(phases.front(), "train samples");
  EXPECT_EQ(phases.back(), "search");
}

}  // namespace
}  // namespace l2gcn
