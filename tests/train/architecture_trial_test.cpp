// What trials choose, and what they must not depend on.
#include "train/architecture_trial.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "l2gcn/error.h"
#include "l2gcn/generate.h"
#include "l2gcn/train.h"
#include "same_model.h"
#include "small_dataset.h"

namespace l2gcn {
namespace {

// Neighbours are mostly of other classes, and degrees differ widely: the plain mean of the neighbours says more than the
// symmetric operator, which weighs them by their degrees and adds the node itself.
Dataset Heterophilous() {
  return GenerateDataset(MakeContext(1), {.shape = "reddit",
                                          .seed = 803,
                                          .nodes = 3000,
                                          .edges = 30000,
                                          .features = 60,
                                          .classes = 6,
                                          .topics = 12,
                                          .homophily = 0.35,
                                          .signal = 3});
}

const Dataset& Shared() {
  static const Dataset dataset = Heterophilous();
  return dataset;
}

ChosenArchitecture ChosenFor(const Dataset& dataset, uint32_t threads = 1) {
  const TrainConfig config = ResolveConfig({}, dataset);
  return ChooseArchitecture(MakeContext(threads), dataset, ResolveSplit(dataset, config.split, config.seed),
                            config);
}

TEST(ArchitectureTrial, TakesTheNeighboursMeanWhereItIsClearlyBetter) {
  const ChosenArchitecture choice = ChosenFor(Shared());
  EXPECT_EQ(choice.config.adjacency, (std::vector{Adjacency::kSym, Adjacency::kMean}));
  EXPECT_FALSE(choice.config.architecture_trial);
  ASSERT_EQ(choice.trials.size(), 3u);
  EXPECT_EQ(choice.trials[0].adjacency, std::vector{Adjacency::kSym});
  EXPECT_EQ(choice.trials[2].hidden_norm, HiddenNorm::kBatch);
  EXPECT_EQ(choice.trials[2].adjacency, choice.config.adjacency);
  EXPECT_LT(choice.trials[1].loss, choice.trials[0].loss);
  int chosen = 0;
  for (const SeedResult::Trial& trial : choice.trials) {
    EXPECT_GE(trial.epochs, 1u);
    chosen += trial.chosen ? 1 : 0;
    if (trial.chosen) {
      EXPECT_EQ(trial.hidden_norm, choice.config.hidden_norm);
    }
  }
  EXPECT_EQ(chosen, 1);
}

// Labels that no feature and no neighbour says anything about: any difference is chance.
TEST(ArchitectureTrial, KeepsTheDefaultWhereNothingIsBetter) {
  Dataset dataset = Shared();
  const RandomStream random(7, RandomUse::kGenerator, 900);
  dataset.labels.classes_of = Array<int32_t>::Allocate(dataset.nodes());
  for (uint32_t i = 0; i < dataset.nodes(); ++i)
    dataset.labels.classes_of.mutable_data()[i] = static_cast<int32_t>(random.Below(i, 6));
  const ChosenArchitecture choice = ChosenFor(dataset);
  EXPECT_EQ(choice.config.adjacency, std::vector{Adjacency::kSym});
  EXPECT_EQ(choice.config.hidden_norm, HiddenNorm::kLayer);
  EXPECT_TRUE(choice.trials[0].chosen);
}

TEST(ArchitectureTrial, IsTheSameForAnyNumberOfThreads) {
  const ChosenArchitecture one = ChosenFor(Shared(), 1), three = ChosenFor(Shared(), 3);
  ASSERT_EQ(one.trials.size(), three.trials.size());
  for (size_t i = 0; i < one.trials.size(); ++i) {
    EXPECT_EQ(one.trials[i].loss, three.trials[i].loss) << i;
    EXPECT_EQ(one.trials[i].chosen, three.trials[i].chosen) << i;
  }
}

TEST(ArchitectureTrial, NeverReadsTestLabels) {
  Dataset changed = Shared();
  const Split split = ResolveSplit(changed, "", 0);
  changed.labels.classes_of = Array<int32_t>::CopyOf(changed.labels.classes_of.span());
  for (uint32_t i = 0; i < changed.nodes(); ++i) {
    int32_t& label = changed.labels.classes_of.mutable_data()[i];
    if (split.roles[i] == static_cast<uint8_t>(Role::kTest)) label = (label + 1) % 6;
  }
  const ChosenArchitecture choice = ChosenFor(Shared()), other = ChosenFor(changed);
  for (size_t i = 0; i < choice.trials.size(); ++i)
    EXPECT_EQ(choice.trials[i].loss, other.trials[i].loss) << i;
}

// The model says what was chosen, and is that of a training to which the choice is given.
TEST(ArchitectureTrial, TrainsWhatItChose) {
  const Context context = MakeContext(2);
  TrainConfig config = ResolveConfig({{"epochs", "3"}}, Shared());
  ASSERT_TRUE(config.architecture_trial);
  const Trained trained = Train(context, Shared(), config);
  EXPECT_EQ(trained.result.trials.size(), 3u);
  EXPECT_GT(trained.result.seconds.choose, 0);
  const TrainConfig& chosen = trained.model.config;
  EXPECT_FALSE(chosen.architecture_trial);
  config.architecture_trial = false;
  config.adjacency = chosen.adjacency;
  config.hidden_norm = chosen.hidden_norm;
  const Trained given = Train(context, Shared(), config);
  EXPECT_TRUE(given.result.trials.empty());
  EXPECT_TRUE(SameModel(trained.model, given.model));
}

// The training that follows reads what the trials aggregated: one choice of rows, and two hops of either operator. It ends
// the trials' hold on what it does not need.
TEST(ArchitectureTrial, SharesTheInputWithTheTraining) {
  for (const char* setting : {"inductive", "transductive"}) {
    const Context context = MakeContext(1);
    const TrainConfig config = ResolveConfig({{"setting", setting}}, Shared());
    const SplitNodes nodes(ResolveSplit(Shared(), config.split, config.seed));
    ChosenArchitecture choice = ChooseArchitecture(context, Shared(), nodes, config);
    LayerPipeline alone(context, Shared(), choice.config, nodes.train);
    const LayerInput expected = alone.Aggregate(context, 0, alone.Input(context));
    const LayerInput blocks = choice.pipeline->Aggregate(context, 0, choice.pipeline->Input(context));
    ASSERT_EQ(blocks.blocks.size(), expected.blocks.size());
    for (size_t i = 0; i < blocks.blocks.size(); ++i) {
      const Matrix a = alone.backend().Download(context, *expected.blocks[i]),
                   b = alone.backend().Download(context, *blocks.blocks[i]);
      EXPECT_TRUE(std::ranges::equal(a.values.span(), b.values.span())) << setting << " " << i;
      EXPECT_LE(blocks.blocks[i].use_count(), 2) << setting << " " << i;  // X⁰ is the pipeline's, too
    }
  }
}

// Several labels a node, and no validation node: train nodes are held out then.
TEST(ArchitectureTrial, WorksWithLabelSetsAndHeldOutNodes) {
  const Dataset labels = SmallDataset(true, false, 300);
  EXPECT_EQ(ChosenFor(labels).trials.size(), 3u);
  Dataset dataset = SmallDataset(false, true, 300);
  const TrainConfig config = ResolveConfig({{"split", "random:0.8,0,0.2"}}, dataset);
  ASSERT_TRUE(config.architecture_trial);
  EXPECT_EQ(Train(MakeContext(1), dataset, config).result.trials.size(), 3u);
}

TEST(ArchitectureTrial, IsForWhatTheUserLeavesOpen) {
  const Dataset& dataset = Shared();
  EXPECT_TRUE(ResolveConfig({}, dataset).architecture_trial);
  EXPECT_TRUE(ResolveConfig({{"hidden", "64"}, {"hops", "3"}}, dataset).architecture_trial);
  for (const auto& [name, value] : Overrides{{"adjacency", "sym"},
                                             {"hidden-norm", "layer"},
                                             {"stop", "early"},
                                             {"lr", "0.01"},
                                             {"preset", "paper"},
                                             {"method", "gcn"},
                                             {"architecture-trial", "false"}}) {
    EXPECT_FALSE(ResolveConfig({{name, value}}, dataset).architecture_trial) << name;
  }
  EXPECT_FALSE(ResolveConfig({{"self-features", "false"}, {"hops", "1"}}, dataset).architecture_trial);
  EXPECT_THROW(ResolveConfig({{"architecture-trial", "true"}, {"lr", "0.01"}}, dataset), Error);
  EXPECT_THROW(ResolveConfig({{"architecture-trial", "true"}, {"preset", "paper"}}, dataset), Error);
}

}  // namespace
}  // namespace l2gcn
