#include <gtest/gtest.h>

#include <algorithm>

#include "data/fixtures.h"
#include "data/samples.h"

namespace l2gcn {
namespace {

Dataset Unlabelled(uint32_t nodes, uint32_t every) {
  Dataset dataset;
  dataset.name = "plain";
  dataset.graph.nodes = nodes;
  dataset.labels.classes = 2;
  dataset.labels.classes_of = Array<int32_t>::Zeros(nodes);
  for (uint32_t node = 0; node < nodes; node += every) dataset.labels.classes_of.mutable_data()[node] = -1;
  return dataset;
}

size_t Count(const Split& split, Role role) {
  return static_cast<size_t>(std::count(split.roles.begin(), split.roles.end(), static_cast<uint8_t>(role)));
}

TEST(Split, RandomDrawsLabelledNodesByFractionAndSeed) {
  const Dataset dataset = Unlabelled(1000, 5);  // 800 labelled
  const Split split = ResolveSplit(dataset, "random:0.6,0.2,0.2", 3);
  EXPECT_EQ(Count(split, Role::kTrain), 480u);
  EXPECT_EQ(Count(split, Role::kVal), 160u);
  EXPECT_EQ(Count(split, Role::kTest), 160u);
  for (uint32_t node = 0; node < 1000; node += 5) EXPECT_EQ(split.roles[node], 0);
  ExpectSameArray(split.roles, ResolveSplit(dataset, "random:0.6,0.2,0.2", 3).roles, "same seed");
  const Split other = ResolveSplit(dataset, "random:0.6,0.2,0.2", 4);
  EXPECT_FALSE(std::equal(split.roles.begin(), split.roles.end(), other.roles.begin()));
  EXPECT_EQ(Count(ResolveSplit(dataset, "random:0.1,0,0.1", 0), Role::kNone), 1000u - 160u);
}

// Classes of 1,000, 90, 7 and 1 nodes, mixed up.
Dataset Uneven() {
  Dataset dataset;
  dataset.name = "uneven";
  dataset.graph.nodes = 1098;
  dataset.labels.classes = 5;  // the last has no member
  dataset.labels.classes_of = Array<int32_t>::Zeros(1098);
  int32_t* classes = dataset.labels.classes_of.mutable_data();
  for (uint32_t i = 0; i < 98; ++i) classes[(i * 11 + 5) % 1098] = i < 90 ? 1 : i < 97 ? 2 : 3;
  return dataset;
}

TEST(Split, RandomGivesEveryPartTheClassesInEqualShares) {
  const Dataset dataset = Uneven();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Split split = ResolveSplit(dataset, "random:0.6,0.2,0.2", seed);
    size_t counts[4][5] = {};
    for (uint32_t i = 0; i < dataset.nodes(); ++i)
      ++counts[split.roles[i]][static_cast<size_t>(dataset.labels.classes_of[i])];
    EXPECT_EQ(Count(split, Role::kTrain), 659u) << "as large as a uniform split's";
    EXPECT_EQ(Count(split, Role::kVal), 219u);
    EXPECT_EQ(Count(split, Role::kTest), 220u);
    EXPECT_NEAR(static_cast<double>(counts[1][0]), 600, 1);
    EXPECT_NEAR(static_cast<double>(counts[1][1]), 54, 1);
    EXPECT_NEAR(static_cast<double>(counts[2][1]), 18, 1);
    EXPECT_GE(counts[1][2], 4u);
    EXPECT_GE(counts[2][2], 1u);
    EXPECT_GE(counts[3][2], 1u);
    EXPECT_EQ(counts[1][3], 1u) << "a class of one node can be learned";
  }
}

TEST(Split, UniformAndLabelSetsAreCutWhateverTheClass) {
  Dataset dataset = Uneven();
  const Split uniform = ResolveSplit(dataset, "uniform:0.6,0.2,0.2", 3);
  EXPECT_EQ(Count(uniform, Role::kTrain), 659u);
  EXPECT_EQ(Count(uniform, Role::kTest), 220u);
  dataset.labels.multilabel = true;
  dataset.labels.matrix = Array<uint8_t>::Zeros(1098 * 5);
  ExpectSameArray(uniform.roles, ResolveSplit(dataset, "random:0.6,0.2,0.2", 3).roles, "label sets");
}

TEST(Split, MoreClassesThanTrainNodesStillSplit) {
  Dataset dataset;
  dataset.graph.nodes = 10;
  dataset.labels.classes = 10;
  dataset.labels.classes_of = Array<int32_t>::Zeros(10);
  for (int32_t i = 0; i < 10; ++i) dataset.labels.classes_of.mutable_data()[i] = i;
  const Split split = ResolveSplit(dataset, "random:0.5,0.2,0.3", 0);
  EXPECT_EQ(Count(split, Role::kTrain), 5u);
  EXPECT_EQ(Count(split, Role::kVal), 2u);
  EXPECT_EQ(Count(split, Role::kTest), 3u);
}

// Counted before anything is drawn, for presets and memory plans.
TEST(Split, CountsAreThoseOfTheSplitWithAnySeed) {
  Dataset labelled = Uneven(), label_sets = Uneven();
  label_sets.labels.multilabel = true;
  label_sets.labels.matrix = Array<uint8_t>::Zeros(1098 * 5);
  const Dataset sets[] = {labelled, label_sets, Unlabelled(1000, 5), SampleDataset(false, false)};
  for (const Dataset& dataset : sets) {
    for (const char* spec :
         {"", "random:0.6,0.2,0.2", "uniform:0.3,0.3,0.3", "random:0.1,0,0.9", "random:0.001,0,0"}) {
      const Split::Counts counts = CountSplit(dataset, spec);
      for (const uint64_t seed : {0, 7}) {
        const Split split = ResolveSplit(dataset, spec, seed);
        EXPECT_EQ(counts.train, Count(split, Role::kTrain)) << dataset.name << " " << spec;
        EXPECT_EQ(counts.val, Count(split, Role::kVal)) << dataset.name << " " << spec;
        EXPECT_EQ(counts.test, Count(split, Role::kTest)) << dataset.name << " " << spec;
      }
    }
  }
  const Dataset own = SampleDataset(false, false);
  EXPECT_EQ(CountSplit(own, "file:0").val, Count(ResolveSplit(own, "file:0", 0), Role::kVal));
  EXPECT_EQ(ErrorOf(ErrorKind::kUsage, [&] { CountSplit(own, "papre"); }),
            ErrorOf(ErrorKind::kUsage, [&] { ResolveSplit(own, "papre", 0); }));
}

TEST(Split, WrongFractionsAreRefused) {
  const Dataset dataset = Unlabelled(10, 100);
  for (const char* spec :
       {"random:0.6,0.2", "random:0.6,0.3,0.2", "random:0,0.5,0.5", "random:a,b,c", "random:-0.1,0.5,0.5",
        "random:nan,0.1,0.1", "random:0.6,0.2,0.2,0.1", "random:", "random:0.6,0.2,0.2x"}) {
    EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage, [&] { ResolveSplit(dataset, spec, 0); }),
                    "expected random:TRAIN,VAL,TEST");
  }
}

TEST(Split, DefaultsToThePapersThenTheFilesThenRandom) {
  Dataset dataset = SampleDataset(false, false);
  EXPECT_EQ(ResolveSplit(dataset, "", 0).name, "paper");
  EXPECT_EQ(ResolveSplit(dataset, "file", 0).name, "file:0");
  std::swap(dataset.splits[0], dataset.splits[1]);
  EXPECT_EQ(ResolveSplit(dataset, "", 0).name, "paper");
  dataset.splits.pop_back();
  EXPECT_EQ(ResolveSplit(dataset, "", 0).name, "file:0");
  dataset.splits.clear();
  EXPECT_EQ(ResolveSplit(dataset, "", 0).name, "random:0.6,0.2,0.2");
}

TEST(Split, UnlabelledNodesLoseTheirRole) {
  const Dataset dataset = SampleDataset(false, false);
  EXPECT_EQ(ResolveSplit(dataset, "file:0", 0).roles[3], 0);
  EXPECT_EQ(dataset.splits[1].roles[3], 1);
}

TEST(Split, UnknownNamesAreAnsweredWithTheKnownOnes) {
  const std::string message =
      ErrorOf(ErrorKind::kUsage, [] { ResolveSplit(SampleDataset(false, false), "papre", 0); });
  EXPECT_MENTIONS(message, "did you mean paper?");
}

}  // namespace
}  // namespace l2gcn
