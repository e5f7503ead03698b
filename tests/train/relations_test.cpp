// Several relations in a layer: what it reads, that training finds the same bits everywhere, and that models match relations
// by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/disk_memory.h"
#include "data/fixtures.h"
#include "l2gcn/error.h"
#include "l2gcn/generate.h"
#include "l2gcn/train.h"
#include "pipeline/layer_pipeline.h"
#include "pipeline/memory_plan.h"
#include "ranks/thread_ranks.h"
#include "same_model.h"
#include "small_dataset.h"

namespace l2gcn {
namespace {

TrainConfig RelationConfig(const char* setting = "transductive") {
  TrainConfig config = SmallConfig();
  config.relations = {"odd", "even"};
  config.self_features = config.raw_features = true;
  config.hops = 2;
  config.hidden_norm = HiddenNorm::kLayer;
  config.adjacency = {Adjacency::kSym, Adjacency::kMean};
  config.epochs = {4};
  FindField("setting").set(config, setting);
  return config;
}

Trained TrainedOn(const Context& context, const Dataset& dataset, const TrainConfig& config) {
  Trained trained = Train(context, dataset, config);
  EvaluateTrained(context, dataset, trained);
  return trained;
}

// The block of one operator alone.
LayerInput InputOf(const Dataset& dataset, TrainConfig config, const std::vector<std::string>& relations,
                   std::vector<Adjacency> adjacency) {
  const Context context = MakeContext(2);
  config.relations = relations;
  config.adjacency = std::move(adjacency);
  const SplitNodes nodes = ResolveSplit(dataset, config.split, 0);
  LayerPipeline pipeline(context, dataset, config, nodes.train);
  return pipeline.Aggregate(context, 0, pipeline.Input(context));
}

Matrix Downloaded(const Tensor& block) {
  return MakeBackend(MakeContext(1), {})->Download(MakeContext(1), block);
}

// X, then hop by hop the products of each relation's operators: those that a data set of that relation alone has.
TEST(Relations, EachHasItsOwnOperators) {
  const Dataset all = WithRelations(SmallDataset());
  for (const char* setting : {"transductive", "inductive"}) {
    const TrainConfig config = RelationConfig(setting);
    const LayerInput joined = InputOf(all, config, config.relations, config.adjacency);
    ASSERT_EQ(joined.blocks.size(), 1u + 2 * 4);
    size_t which = 0;
    for (const char* relation : {"odd", "even"}) {
      for (const Adjacency adjacency : config.adjacency) {
        Dataset alone = SmallDataset();
        alone.graph = all.relations[std::string(relation) == "odd" ? 1 : 0].graph;
        const LayerInput own = InputOf(alone, config, {}, {adjacency});
        ASSERT_EQ(own.blocks.size(), 3u);
        for (size_t hop = 0; hop < 2; ++hop) {
          EXPECT_TRUE(
              SameBits(Downloaded(*own.blocks[1 + hop]), Downloaded(*joined.blocks[1 + 4 * hop + which])))
              << setting << " " << relation << " " << hop;
        }
        ++which;
      }
    }
  }
}

TEST(Relations, AllEdgesAreTheGraphItself) {
  const Dataset all = WithRelations(SmallDataset());
  TrainConfig config = RelationConfig();
  config.relations = {};
  const Trained plain = TrainedOn(MakeContext(2), SmallDataset(), config);
  EXPECT_TRUE(SameModel(plain.model, TrainedOn(MakeContext(2), all, config).model));
  config.relations = {kAllEdges};
  EXPECT_TRUE(SameModel(plain.model, TrainedOn(MakeContext(2), all, config).model));
}

TEST(Relations, ModelsAreTheSameForAnyThreadsFromDiskAndForRanks) {
  const Dataset dataset = WithRelations(SmallDataset());
  for (const char* setting : {"transductive", "inductive"}) {
    const TrainConfig config = RelationConfig(setting);
    const Trained one = TrainedOn(MakeContext(1), dataset, config);
    EXPECT_TRUE(SameModel(one.model, TrainedOn(MakeContext(4), dataset, config).model)) << setting;
    TemporaryFolder folder;
    Context from_disk = MakeContext(2);
    from_disk.disk = std::make_shared<DiskMemory>(uint64_t{1} << 30, folder.path());
    EXPECT_TRUE(SameModel(one.model, TrainedOn(from_disk, dataset, config).model)) << setting;
    RunAsRanks(3, 1, [&](const Context& context) {
      if (!SameModel(one.model, TrainedOn(context, dataset, config).model)) throw std::runtime_error(setting);
    });
  }
}

TEST(Relations, ModelsMatchThemByName) {
  const Context context = MakeContext(2);
  Dataset dataset = WithRelations(SmallDataset());
  TemporaryFolder folder;
  const std::string place = (folder.path() / "model").string();
  const Trained trained = TrainedOn(context, dataset, RelationConfig());
  SaveModel(trained.model, place);
  const Model model = LoadModel(place);
  EXPECT_EQ(model.config.relations, (std::vector<std::string>{"odd", "even"}));
  EXPECT_EQ(model.relations, (std::vector<std::string>{"even", "odd"}));
  const Matrix logits = PredictLogits(context, model, dataset);
  EXPECT_TRUE(SameBits(logits, PredictLogits(context, trained.model, dataset)));
  std::swap(dataset.relations[0], dataset.relations[1]);
  EXPECT_TRUE(SameBits(logits, PredictLogits(context, model, dataset)));

  Dataset more = dataset;
  more.relations.push_back({"new", dataset.relations[0].graph});
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { PredictLogits(context, model, more); }),
                  "does not know the relations new");
  std::vector<std::string> notes;
  Context noting = context;
  noting.on_note = [&](const std::string& note) { notes.push_back(note); };
  const Dataset known = AlignRelations(noting, model, more, true);
  EXPECT_TRUE(SameBits(logits, PredictLogits(context, model, known)));
  EXPECT_TRUE(std::ranges::equal(known.graph.indices.span(), dataset.graph.indices.span()));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_MENTIONS(notes[0], "left out");

  Dataset fewer = dataset;
  fewer.relations.pop_back();
  const Dataset aligned = AlignRelations(noting, model, fewer);
  ASSERT_EQ(aligned.relations.size(), 2u);
  EXPECT_EQ(aligned.relations[0].name, "even");
  EXPECT_EQ(aligned.relations[0].graph.entries(), 0u);
  EXPECT_MENTIONS(notes.back(), "do not occur in it: even");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { PredictLogits(context, model, SmallDataset()); }),
                  "has one relation; the model was trained on even, odd");
}

TEST(Relations, UnknownNamesAndTooManyOperatorsAreRefused) {
  const Context context = MakeContext(1);
  const Dataset dataset = WithRelations(SmallDataset());
  TrainConfig config = RelationConfig();
  config.relations = {"od"};
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage, [&] { Train(context, dataset, config); }),
                  "has no relation 'od'; it has all, even, odd");
  config.relations = {"odd", "even"};
  config.self_features = config.raw_features = false;
  config.hops = 1;
  config.adjacency = {Adjacency::kSym};
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage, [&] { Train(context, dataset, config); }),
                  "--relations: 2 operators need --self-features");
}

TEST(Relations, TrialsNeedSelfFeaturesAndARateThatIsFound) {
  TrainConfig config = RelationConfig();
  config.relations = {kAutoRelations};
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage, [&] { Validate(config); }), "a rate that is found");
  config.lr.reset();
  config.self_features = config.raw_features = false;
  config.hops = 1;
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage, [&] { Validate(config); }), "needs --self-features");
}

TEST(Relations, AreCountedByThePlan) {
  const Context context = MakeContext(1);
  Dataset dataset = WithRelations(SmallDataset());
  TrainConfig config = RelationConfig();
  config.adjacency = {Adjacency::kSym};
  const uint64_t both = PlanTraining(context, dataset, config).need_bytes;
  config.relations = {"odd"};
  EXPECT_LT(PlanTraining(context, dataset, config).need_bytes, both);
  config.lr.reset();
  config.stop = StopRule::kPlateau;
  config.relations = {kAutoRelations};
  EXPECT_GT(PlanTraining(context, dataset, config).need_bytes, both);
}

TEST(Relations, TrialsTryAllEdgesTheRelationsAndBoth) {
  const Dataset dataset = WithRelations(SmallDataset());
  TrainConfig config = RelationConfig();
  config.lr.reset();
  config.stop = StopRule::kPlateau;
  config.relations = {kAutoRelations};
  const Trained trained = TrainedOn(MakeContext(2), dataset, config);
  ASSERT_EQ(trained.result.trials.size(), 3u);
  EXPECT_TRUE(trained.result.trials[0].relations.empty());
  EXPECT_EQ(trained.result.trials[1].relations, (std::vector<std::string>{kAllEdges, "even", "odd"}));
  EXPECT_EQ(trained.result.trials[2].relations, (std::vector<std::string>{"even", "odd"}));
  for (const SeedResult::Trial& trial : trained.result.trials) {
    if (trial.chosen) {
      EXPECT_EQ(trained.model.config.relations, trial.relations);
    }
  }
}

Dataset Generated(uint32_t types, bool directed) {
  return GenerateDataset(MakeContext(2), {.shape = "reddit",
                                          .seed = 5,
                                          .nodes = 1500,
                                          .edges = 22500,
                                          .features = 16,
                                          .classes = 4,
                                          .edge_types = types,
                                          .directed = directed,
                                          .homophily = 1,
                                          .signal = 4,
                                          .label_noise = 0});
}

// Types alone, and directions beside all edges together.
TEST(Relations, TheDefaultReadsThemAll) {
  const Dataset typed = WithRelations(SmallDataset());
  EXPECT_EQ(ResolveConfig({}, typed).relations, (std::vector<std::string>{"even", "odd"}));
  Dataset many = typed;
  for (int k = 0; k < 20; ++k) many.relations.push_back({"r" + std::to_string(k), typed.graph});
  EXPECT_EQ(ResolveConfig({}, typed).hops, 2u);
  EXPECT_EQ(ResolveConfig({}, many).hops, 1u);
  EXPECT_EQ(ResolveConfig({{"relations", "odd"}}, typed).relations, std::vector<std::string>{"odd"});
  EXPECT_TRUE(ResolveConfig({{"preset", "paper"}}, typed).relations.empty());
  EXPECT_TRUE(ResolveConfig({{"method", "gcn"}}, typed).relations.empty());
  EXPECT_TRUE(ResolveConfig({}, SmallDataset()).relations.empty());
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage,
                          [&] {
                            ResolveConfig({{"relations", "auto"}}, SmallDataset());
                          }),
                  "has one relation");
  EXPECT_EQ(ResolveConfig({}, Generated(1, true)).relations,
            (std::vector<std::string>{kAllEdges, "in", "out"}));
}

double TestF1(const Dataset& dataset, const std::vector<std::string>& relations) {
  TrainConfig config = SmallConfig();
  config.split = "random:0.5,0.2,0.3";
  config.transductive = true;
  config.layers = 1;
  config.hidden = {32};
  config.epochs = {12};
  config.batch = 32;
  config.self_features = true;
  config.hidden_norm = HiddenNorm::kLayer;
  config.adjacency = {Adjacency::kSym};
  config.relations = relations;
  return TrainedOn(MakeContext(2), dataset, config).result.f1_test;
}

// The same features and, in columns of their own, the label itself.
Dataset WithOracle(Dataset dataset) {
  const Matrix& given = dataset.features.matrix();
  Matrix joined = Matrix::Zeros(given.rows, given.cols + dataset.labels.classes);
  for (size_t i = 0; i < given.rows; ++i) {
    std::copy_n(given.row(i), given.cols, joined.mutable_row(i));
    joined.mutable_row(i)[given.cols + static_cast<size_t>(dataset.labels.classes_of[i])] = 1;
  }
  dataset.features = Features::Dense(std::move(joined));
  return dataset;
}

// Where the kind of an edge decides, all edges together do not tell the label, and relations tell nearly all of it.
TEST(Relations, LearnWhatTypesAndDirectionsCarry) {
  const struct {
    uint32_t types;
    bool directed;
    std::vector<std::string> names;
  } cases[] = {{2, false, {"type00", "type01"}},
               {1, true, {"in", "out"}},
               {2, true, {"type00/in", "type00/out", "type01/in", "type01/out"}}};
  for (const auto& [types, directed, names] : cases) {
    const Dataset dataset = Generated(types, directed);
    std::vector<std::string> found;
    for (const Relation& relation : dataset.relations) found.push_back(relation.name);
    EXPECT_EQ(found, names);
    const double apart = TestF1(dataset, names), together = TestF1(dataset, {});
    EXPECT_GT(apart, together + 0.1) << types << directed;
    EXPECT_GT(apart, TestF1(WithOracle(dataset), names) - 0.01) << types << directed;
  }
}

}  // namespace
}  // namespace l2gcn
