#include "l2gcn/config.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <set>

#include "config/methods.h"
#include "config/stop_policies.h"
#include "l2gcn/error.h"
#include "l2gcn/settings.h"

namespace l2gcn {
namespace {

Dataset SetOf(const std::string& preset_row, size_t features = 10, bool multilabel = false) {
  Dataset dataset;
  dataset.preset_row = preset_row;
  dataset.format = "native";
  dataset.features = Features::Dense({Array<float>::Filled(features, 1.0f), 1, features});
  dataset.labels.multilabel = multilabel;
  return dataset;
}

// The message of the Error that `call` throws, with its kind.
template <class Call>
std::string MessageOf(ErrorKind kind, Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

std::string UsageOf(const Overrides& overrides, const std::string& preset_row = "cora") {
  return MessageOf(ErrorKind::kUsage, [&] { ResolveConfig(overrides, SetOf(preset_row)); });
}

TEST(Fields, NamesAreUniqueAndEveryValueRoundTrips) {
  std::set<std::string> names;
  for (const Field& field : Fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_FALSE(field.help.empty()) << field.name;
    TrainConfig config;
    const std::string before = field.get(config);
    if (before.empty()) continue;
    field.set(config, before);
    EXPECT_EQ(field.get(config), before) << field.name;
    for (const std::string& choice : field.choices) {
      field.set(config, choice);
      if (field.name == "setting" && choice == "auto") continue;  // leaves what the preset chose
      EXPECT_EQ(field.get(config), field.name == "method" ? FindMethod(choice).name : choice);
    }
  }
}

TEST(Fields, DefaultMethodIsBuilt) {
  EXPECT_EQ(TrainConfig{}.method, BuiltMethods().front());
  EXPECT_EQ(ResolveConfig({{"preset", "paper"}}, SetOf("cora")).method, BuiltMethods().front());
}

TEST(Presets, RowsOfThePaper) {
  const Overrides paper = {{"preset", "paper"}, {"method", "lgcn"}};
  const TrainConfig cora = ResolveConfig(paper, SetOf("cora", 1433));
  EXPECT_EQ(cora.layers, 2u);
  EXPECT_EQ(cora.hidden, std::vector<uint32_t>{16});
  EXPECT_EQ(cora.batch, 256u);
  EXPECT_EQ(cora.lr, 0.005);
  EXPECT_EQ(cora.epochs, std::vector<uint32_t>{80});
  EXPECT_EQ(FindField("theta").get(cora), "keep");
  EXPECT_EQ(FindField("init").get(cora), "fan-in");
  EXPECT_EQ(FindField("scale").get(cora), "none");
  EXPECT_EQ(FindField("adjacency").get(cora), "row+i");
  EXPECT_EQ(FindField("stop").get(cora), "fixed");
  EXPECT_TRUE(cora.drop_last);

  const TrainConfig ppi = ResolveConfig(paper, SetOf("ppi", 50, true));
  EXPECT_EQ(ppi.layers, 3u);
  EXPECT_EQ(ppi.hidden, std::vector<uint32_t>{512});
  EXPECT_EQ(ppi.epochs, std::vector<uint32_t>{400});
  EXPECT_EQ(FindField("theta").get(ppi), "fresh");
  EXPECT_EQ(FindField("init").get(ppi), "xavier");
  EXPECT_EQ(FindField("scale").get(ppi), "standard");

  const TrainConfig other = ResolveConfig(paper, SetOf(""));
  EXPECT_EQ(other.layers, 2u);
  EXPECT_EQ(other.hidden, std::vector<uint32_t>{128});
  EXPECT_EQ(other.batch, 1024u);
  EXPECT_EQ(other.lr, 0.001);
}

// `nodes` labelled nodes of `classes` classes, or with as many labels; all else is empty.
Dataset LabelledSet(uint32_t nodes, uint32_t classes, bool multilabel = false) {
  Dataset dataset = SetOf("", 10, multilabel);
  dataset.graph.nodes = nodes;
  dataset.graph.indptr = Array<uint64_t>::Zeros(nodes + size_t{1});
  dataset.labels.classes = classes;
  if (multilabel) dataset.labels.matrix = Array<uint8_t>::Zeros(size_t{nodes} * classes);
  if (!multilabel) dataset.labels.classes_of = Array<int32_t>::Zeros(nodes);
  return dataset;
}

TEST(Presets, OneLayerWithManyHopsWhereFewOfManyNodesHaveALabel) {
  const Overrides few = {{"split", "random:0.1,0.2,0.7"}}, many = {{"split", "random:0.3,0.2,0.5"}};
  const TrainConfig config = ResolveConfig(few, LabelledSet(2000, 2));
  EXPECT_EQ(config.layers, 1u);
  EXPECT_EQ(config.hops, 8u);
  EXPECT_EQ(config.dropout, 0.8);
  EXPECT_FALSE(config.architecture_trial);
  EXPECT_EQ(FindField("scale").get(config), "standard") << "dense features";
  EXPECT_EQ(ResolveConfig(many, LabelledSet(2000, 2)).layers, 2u) << "a third of the nodes is not few";
  EXPECT_EQ(ResolveConfig(few, LabelledSet(20000, 2)).layers, 2u) << "2,000 labels are not few";
  Overrides by_hand = few;
  by_hand.emplace_back("layers", "3");
  EXPECT_EQ(ResolveConfig(by_hand, LabelledSet(2000, 2)).layers, 3u);
}

TEST(Presets, BestGoesByWhatCanBeSeenOfTheData) {
  const Overrides best = {{"preset", "best"}};
  const TrainConfig small = ResolveConfig(best, LabelledSet(1000, 7));
  EXPECT_EQ(small.method, "layerwise");
  EXPECT_EQ(small.stop, StopRule::kPlateau);
  EXPECT_TRUE(small.FindsRate());
  EXPECT_TRUE(small.transductive);
  EXPECT_EQ(FindField("watch").get(small), "val");
  EXPECT_EQ(small.batch, 256u);
  EXPECT_EQ(small.epochs[0], 100u);
  EXPECT_EQ(small.hidden_norm, HiddenNorm::kLayer);
  EXPECT_EQ(FindField("scale").get(small), "standard") << "dense features";
  const TrainConfig large = ResolveConfig(best, LabelledSet(400000, 7));
  EXPECT_EQ(large.batch, 4096u);
  EXPECT_EQ(large.epochs[0], 16u);
  EXPECT_EQ(FindField("watch").get(ResolveConfig(best, LabelledSet(1000, 2))), "val-loss");
  const TrainConfig many = ResolveConfig(best, LabelledSet(1000, 5, true));
  EXPECT_EQ(FindField("watch").get(many), "val-loss");
  EXPECT_EQ(FindField("threshold").get(many), "auto");
  const Overrides no_val = {{"preset", "best"}, {"split", "random:0.7,0,0.3"}};
  EXPECT_EQ(ResolveConfig(no_val, LabelledSet(1000, 7)).stop, StopRule::kPlateau) << "holds nodes out";
  EXPECT_EQ(ResolveConfig(no_val, LabelledSet(20, 2)).stop, StopRule::kFixed) << "too few to hold any out";
  Dataset apart = LabelledSet(1000, 7);
  apart.inductive = true;
  EXPECT_FALSE(ResolveConfig(best, apart).transductive);
  EXPECT_TRUE(ResolveConfig({{"setting", "transductive"}}, apart).transductive);
  EXPECT_FALSE(ResolveConfig({{"setting", "auto"}}, apart).transductive);
  EXPECT_FALSE(ResolveConfig({{"preset", "paper"}}, LabelledSet(1000, 7)).transductive);
  // A rule or a rate that the user names is followed by a fixed rate, or by early stopping.
  const auto early = [&](uint32_t nodes, const Overrides& said) {
    const TrainConfig config = ResolveConfig(said, LabelledSet(nodes, 7));
    EXPECT_EQ(config.stop, StopRule::kEarly);
    return config.lr.value_or(0);
  };
  EXPECT_EQ(early(1000, {{"stop", "early"}}), 0.001);
  EXPECT_EQ(early(400000, {{"stop", "early"}}), 0.003);
  EXPECT_EQ(early(1000, {{"lr", "0.02"}}), 0.02);
  EXPECT_EQ(ResolveConfig({{"method", "lgcn"}}, LabelledSet(1000, 7)).lr, 0.001);
  // What the user says wins; a method of the user's brings its own stop; baselines keep the paper's row.
  EXPECT_FALSE(
      ResolveConfig({{"preset", "best"}, {"hops", "1"}, {"self-features", "false"}}, LabelledSet(1000, 7))
          .self_features);
  EXPECT_EQ(
      FindField("stop").get(ResolveConfig({{"preset", "best"}, {"method", "l2gcn"}}, LabelledSet(1000, 7))),
      "controller");
  EXPECT_EQ(ResolveConfig({{"preset", "best"}, {"method", "gcn"}}, LabelledSet(1000, 7)).head, 0u);
  EXPECT_NE(UsageOf({{"method", "gcn"}, {"head", "8"}}).find("--head"), std::string::npos);
  EXPECT_NE(UsageOf({{"preset", "paper"}, {"predict-from", "mean"}}).find("--predict-from mean"),
            std::string::npos);
}

TEST(Presets, BestScalesMeasurementsAndLeavesWordsAlone) {
  Dataset dataset = LabelledSet(1000, 7);
  const auto scale = [&](size_t every) {
    Matrix features = Matrix::Allocate(1000, 10);
    float* values = features.values.mutable_data();
    for (size_t i = 0; i < features.values.size(); ++i) values[i] = i % every == 0 ? 1.0f : 0.0f;
    dataset.features = Features::Dense(std::move(features));
    return FindField("scale").get(ResolveConfig({{"preset", "best"}}, dataset));
  };
  EXPECT_EQ(scale(1), "standard");
  EXPECT_EQ(scale(3), "standard");
  EXPECT_EQ(scale(7), "none");
}

TEST(Presets, BestDropsLittleWhereItPredictsNumbers) {
  Dataset dataset = LabelledSet(1000, 1);
  dataset.labels.classes_of = {};
  dataset.labels.targets = {Array<float>::Filled(1000, 0.5f), 1000, 1};
  const TrainConfig config = ResolveConfig({{"preset", "best"}, {"split", "random:0.1,0.2,0.7"}}, dataset);
  EXPECT_EQ(config.dropout, 0.3) << "also with few labels";
  EXPECT_EQ(config.input_dropout, 0.0);
  EXPECT_EQ(config.correct, Choice::kOff);
}

TEST(Presets, BestIsTheDefaultOfLayersTrainedOneByOne) {
  const Dataset small = LabelledSet(1000, 7);
  const auto preset = [](const Overrides& said, const Dataset& dataset) {
    const TrainConfig config = ResolveConfig(said, dataset);
    EXPECT_EQ(config.head > 0, config.best_preset);
    return FindField("preset").get(config);
  };
  EXPECT_EQ(preset({}, small), "best");
  EXPECT_EQ(preset({{"method", "lgcn"}}, small), "best");
  EXPECT_EQ(preset({{"method", "l2gcn"}}, small), "best");
  EXPECT_EQ(preset({{"stop", "controller"}}, small), "best");
  EXPECT_EQ(preset({{"preset", "paper"}}, small), "paper");
  EXPECT_EQ(preset({{"method", "gcn"}}, small), "paper");
  EXPECT_EQ(preset({{"method", "ngcn-layerwise"}}, small), "paper");
  EXPECT_EQ(preset({{"controller", "paper"}}, small), "paper");
  EXPECT_EQ(ResolveConfig({{"controller", "mine"}}, small).stop, StopRule::kController);
  // What is shown where no data set is known yet.
  EXPECT_EQ(ResolveConfig({}, Dataset{}).stop, StopRule::kPlateau);
}

// Powers side by side take three times the memory of the features, which a set that trained until now may not have.
TEST(Presets, LargeSetsStayWithPlainLayers) {
  const auto preset = [](uint32_t nodes, Features features) {
    Dataset dataset = LabelledSet(nodes, 2);
    dataset.features = std::move(features);
    return FindField("preset").get(ResolveConfig({}, dataset));
  };
  const auto dense = [](size_t rows, size_t cols) {  // zeros that take no memory
    const size_t bytes = rows * cols * sizeof(uint16_t);
    void* const zeros = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const std::shared_ptr<void> owner(zeros, [bytes](void* memory) { munmap(memory, bytes); });
    auto values = Array<uint16_t>::Borrow(owner, static_cast<const uint16_t*>(zeros), rows * cols);
    return Features::Stored(FeatureType::kF16, std::move(values), rows, cols);
  };
  EXPECT_EQ(preset(700000, dense(700000, 1000)), "best");
  EXPECT_EQ(preset(720000, dense(720000, 1000)), "paper");
}

TEST(Presets, PreparationDependsOnWhatTheFilesHold) {
  EXPECT_EQ(ResolveConfig({}, SetOf("amazon670k", 135909)).pca, 100u);
  EXPECT_EQ(ResolveConfig({}, SetOf("amazon670k", 100)).pca, 0u);
  EXPECT_EQ(ResolveConfig({}, SetOf("reddit", 602)).smooth, 1u);
  Dataset generated = SetOf("reddit", 602);
  generated.name = "synthetic:reddit";
  EXPECT_EQ(ResolveConfig({}, generated).smooth, 0u);
}

TEST(ResolveConfig, TheUserHasTheLastWord) {
  const TrainConfig config = ResolveConfig(
      {{"layers", "3"}, {"hidden", "8,16,32"}, {"drop_last", "false"}, {"lr", "0.5"}}, SetOf("cora"));
  EXPECT_EQ(config.HiddenOf(2), 32u);
  EXPECT_EQ(config.EpochsOf(2), 100u);
  EXPECT_FALSE(config.drop_last);
  EXPECT_EQ(config.lr, 0.5);
}

TEST(ResolveConfig, MistakesNameValueAndRange) {
  EXPECT_NE(UsageOf({{"epochs", "0"}}).find("--epochs 0: expected a whole number from 1"), std::string::npos);
  EXPECT_NE(UsageOf({{"batch", "0"}}).find("--batch 0"), std::string::npos);
  EXPECT_NE(UsageOf({{"batch", "-5"}}).find("--batch -5"), std::string::npos);
  EXPECT_NE(UsageOf({{"epochs", "80,"}}).find("--epochs"), std::string::npos);
  EXPECT_NE(UsageOf({{"layers", "65"}}).find("from 1 to 64"), std::string::npos);
  EXPECT_NE(UsageOf({{"dropout", "1"}}).find("from 0 to below 1"), std::string::npos);
  EXPECT_NE(UsageOf({{"lr", "0"}}).find("above 0"), std::string::npos);
  EXPECT_NE(UsageOf({{"lr", "nan"}}).find("above 0"), std::string::npos);
  EXPECT_NE(UsageOf({{"lr", "1e999"}}).find("above 0"), std::string::npos);
  EXPECT_NE(UsageOf({{"drop-last", "maybe"}}).find("true or false"), std::string::npos);
}

TEST(ResolveConfig, ARateIsANumberOrLeftToTheProgram) {
  const TrainConfig config = ResolveConfig({{"lr", "auto"}}, Dataset());
  EXPECT_TRUE(config.FindsRate());
  EXPECT_EQ(FindField("lr").get(config), "auto");
  EXPECT_TRUE(ConfigFromJson(ConfigToJson(config), "here").FindsRate());
  EXPECT_FALSE(ResolveConfig({{"lr", "0.5"}}, Dataset()).FindsRate());
  for (const char* wrong : {"0", "-1", "automatic"})
    EXPECT_THROW(ResolveConfig({{"lr", wrong}}, Dataset()), Error) << wrong;
  EXPECT_THROW(ResolveConfig({{"method", "gcn"}, {"lr", "auto"}}, Dataset()), Error);
  for (const char* wrong : {"0.6", "-0.1", "some"})
    EXPECT_THROW(ResolveConfig({{"hold-out", wrong}}, Dataset()), Error) << wrong;
}

TEST(ResolveConfig, UnknownNamesGetTheNearest) {
  EXPECT_NE(UsageOf({{"epoch", "3"}}).find("'epochs'"), std::string::npos);
  EXPECT_NE(UsageOf({{"adjacency", "smy"}}).find("'sym'"), std::string::npos);
  EXPECT_NE(UsageOf({{"method", "lgnc"}}).find("'lgcn'"), std::string::npos);
  EXPECT_NE(UsageOf({{"split", "pulbic"}}).find("'public'"), std::string::npos);
}

TEST(ResolveConfig, LayersReadSeveralOperators) {
  const TrainConfig config = ResolveConfig({{"adjacency", "mean,sym"}, {"self-features", "true"}}, Dataset());
  EXPECT_EQ(config.adjacency, (std::vector{Adjacency::kMean, Adjacency::kSym}));
  EXPECT_EQ(FindField("adjacency").get(config), "mean,sym");
  EXPECT_EQ(ConfigFromJson(ConfigToJson(config), "x").adjacency, config.adjacency);
  EXPECT_NE(UsageOf({{"adjacency", "sym,sym"}}).find("names sym twice"), std::string::npos);
  EXPECT_THROW(ResolveConfig({{"adjacency", ""}}, Dataset()), Error);
  EXPECT_NE(UsageOf({{"adjacency", "sym,mean"}, {"method", "gcn"}}).find("method gcn takes one"),
            std::string::npos);
  EXPECT_NE(UsageOf({{"adjacency", "sym,mean"}, {"preset", "paper"}}).find("need --self-features"),
            std::string::npos);
  EXPECT_NE(UsageOf({{"raw-features", "true"}, {"preset", "paper"}}).find("needs self_features"),
            std::string::npos);
}

TEST(ResolveConfig, ListsHaveOneValueOrOnePerLayer) {
  EXPECT_NE(UsageOf({{"epochs", "80,80,80"}}).find("3 values for 2 layers; expected 1 or 2"),
            std::string::npos);
  EXPECT_NE(UsageOf({{"layers", "3"}, {"hidden", "8,8"}}).find("2 values for 3 layers"), std::string::npos);
}

TEST(ResolveConfig, SettingsTheMethodHasNoUseForAreRefused) {
  EXPECT_NE(UsageOf({{"method", "lgcn"}, {"parts", "10"}}).find("clustergcn"), std::string::npos);
  EXPECT_NE(UsageOf({{"method", "lgcn"}, {"controller", "c.safetensors"}}).find("--stop controller"),
            std::string::npos);
}

TEST(ResolveConfig, ConventionalMethodsTakeThePartsThatTheirLayersCanHave) {
  const Overrides deep = {
      {"method", "gcn"}, {"hidden-norm", "batch"}, {"self-features", "true"}, {"bias", "true"}};
  const TrainConfig config = ResolveConfig(deep, Dataset());
  EXPECT_EQ(config.hidden_norm, HiddenNorm::kBatch);
  EXPECT_TRUE(config.self_features && config.bias);
  for (const char* method : {"sgc", "ngcn"})
    EXPECT_NE(UsageOf({{"method", method}, {"hidden-norm", "layer"}}).find("has no use for it"),
              std::string::npos);
  for (const char* method : {"fastgcn", "vrgcn"}) {
    EXPECT_NE(UsageOf({{"method", method}, {"self-features", "true"}}).find("has no use for it"),
              std::string::npos);
    EXPECT_NO_THROW(ResolveConfig({{"method", method}, {"hidden-norm", "layer"}}, Dataset()));
  }
  EXPECT_NE(
      UsageOf({{"method", "gcn"}, {"self-features", "true"}, {"precompute", "true"}}).find("--precompute"),
      std::string::npos);
  TrainConfig by_hand = config;
  by_hand.hops = 2;
  EXPECT_THROW(Validate(by_hand), Error);
  by_hand = ResolveConfig({{"method", "sgc"}}, Dataset());
  by_hand.hidden_norm = HiddenNorm::kLayer;
  EXPECT_THROW(Validate(by_hand), Error);
}

TEST(ResolveConfig, SettingsWithoutAnEffectAreRefused) {
  EXPECT_NE(
      UsageOf({{"stop", "fixed"}, {"patience", "5"}}).find("--patience 5 has no effect without --stop early"),
      std::string::npos);
  EXPECT_NE(UsageOf({{"stop", "controller"}, {"watch", "val"}}).find("--stop early"), std::string::npos);
  const Overrides early = {{"method", "l2gcn"}, {"stop", "early"}};
  for (const auto& [name, value] :
       Overrides{{"controller", "c"}, {"controller", "paper"}, {"hold-out", "0.1"}}) {
    Overrides said = early;
    said.emplace_back(name, value);
    EXPECT_NE(UsageOf(said).find("has no effect without --stop controller"), std::string::npos) << name;
  }
  EXPECT_NE(UsageOf({{"lr", "auto"}, {"on-nan", "restart"}}).find("a number for --lr"), std::string::npos);
  EXPECT_NO_THROW(ResolveConfig({{"stop", "early"}, {"patience", "5"}}, Dataset()));
}

// A stored configuration names every setting; those without an effect beside the flags are left out.
TEST(ConfigJson, StoredSettingsGiveWayToFlags) {
  const TrainConfig stored =
      ResolveConfig({{"method", "l2gcn"}, {"preset", "paper"}, {"lr", "0.0123"}}, SetOf("cora"));
  const Overrides all = OverridesFromJson(ConfigToJson(stored), "config.json");
  const auto with = [&](const Overrides& flags) {
    return ResolveConfig(JoinOverrides(all, flags), SetOf("cora"));
  };
  EXPECT_EQ(ConfigToJson(with({})), ConfigToJson(stored));
  EXPECT_EQ(with({{"stop", "early"}}).patience, TrainConfig().patience);
  EXPECT_EQ(with({{"method", "gcn"}}).lr, 0.0123);
  EXPECT_EQ(with({{"method", "gcn"}}).stop, StopRule::kFixed);
  EXPECT_EQ(with({{"method", "lgcn"}}).stop, StopRule::kFixed);
  const Overrides early = OverridesFromJson(
      ConfigToJson(ResolveConfig({{"method", "lgcn"}, {"stop", "early"}, {"patience", "7"}}, SetOf("cora"))),
      "c");
  EXPECT_EQ(ResolveConfig(JoinOverrides(early, {}), SetOf("cora")).patience, 7u);
  EXPECT_EQ(ResolveConfig(JoinOverrides(early, {{"stop", "fixed"}}), SetOf("cora")).stop, StopRule::kFixed);
}

// The paper's names stand for layer-wise training with one stopping rule.
TEST(ResolveConfig, NamesOfThePaperImplyAStoppingRule) {
  const auto resolved = [](const Overrides& said) { return ResolveConfig(said, SetOf("cora")); };
  for (const char* preset : {"paper", "best"}) {
    EXPECT_EQ(resolved({{"preset", preset}, {"method", "lgcn"}}).method, "layerwise");
    EXPECT_EQ(resolved({{"preset", preset}, {"method", "lgcn"}}).stop, StopRule::kFixed);
    EXPECT_EQ(resolved({{"preset", preset}, {"method", "l2gcn"}}).stop, StopRule::kController);
    EXPECT_EQ(resolved({{"preset", preset}, {"method", "lgcn"}, {"stop", "early"}}).stop, StopRule::kEarly);
    EXPECT_EQ(resolved({{"preset", preset}, {"lr", "auto"}}).stop, StopRule::kPlateau);
  }
  EXPECT_EQ(resolved({{"preset", "paper"}}).stop, StopRule::kController);
  EXPECT_EQ(resolved({{"stop", "plateau"}, {"lr", "0.01"}}).stop, StopRule::kPlateau);
  EXPECT_NE(UsageOf({{"method", "gcn"}, {"stop", "controller"}}).find("takes fixed or early"),
            std::string::npos);
  EXPECT_NE(UsageOf({{"method", "ngcn-layerwise"}, {"stop", "plateau"}}).find("needs layerwise"),
            std::string::npos);
  EXPECT_NE(UsageOf({{"stop", "learned"}}).find("--stop controller"), std::string::npos);
  EXPECT_NE(UsageOf({{"controller-kind", "paper"}}).find("'controller'"), std::string::npos);
  for (const Overrides& other : {Overrides{{"stop", "early"}}, Overrides{{"method", "l2gcn"}}}) {
    Overrides said = other;
    said.emplace_back("lr", "auto");
    EXPECT_NE(UsageOf(said).find("--stop plateau"), std::string::npos);
  }
}

TEST(Fields, EveryOneHasAGroupAndFewAreBasic) {
  size_t shown = 0, basic = 0;
  for (const Field& field : Fields()) {
    EXPECT_FALSE(field.group.empty()) << field.name;
    shown += field.level != FieldText::Level::kPreset;
    basic += field.level == FieldText::Level::kBasic;
  }
  EXPECT_LE(shown, 36u);
  EXPECT_LE(basic, 10u);
}

TEST(Fields, RenamedAndPresetOnesSayWhereToGo) {
  EXPECT_NE(WhereToSet("norm").find("'adjacency'"), std::string::npos);
  EXPECT_NE(WhereToSet("norm").find("'hidden-norm'"), std::string::npos);
  EXPECT_NE(WhereToSet("layer_norm").find("'hidden-norm'"), std::string::npos);
  EXPECT_NE(WhereToSet("theta").find("--config FILE"), std::string::npos);
  EXPECT_NE(WhereToSet("labels_as_inputs").find("was removed"), std::string::npos);
  EXPECT_EQ(WhereToSet("epochs"), "");
  EXPECT_NE(UsageOf({{"read-out", "mean"}}).find("'predict-from'"), std::string::npos);
  EXPECT_NE(UsageOf({{"judge", "test"}}).find("'evaluation-split'"), std::string::npos);
}

// A complete configuration of an earlier version, as runs and models store it.
TEST(ConfigJson, EarlierArchitecturesAreTranslated) {
  const auto read = [](const std::string& method, int reach, bool norm) {
    return ConfigFromJson(fmt::format(R"({{"method": "{}", "theta": "keep", "norm": "sym", "layer_norm": {},
                                           "read_out": "mean", "reach": {}, "hops": 3}})",
                                      method, norm, reach),
                          "config.json");
  };
  const TrainConfig wide = read("layerwise", 2, true);
  EXPECT_EQ(wide.adjacency, std::vector{Adjacency::kSym});
  EXPECT_EQ(wide.hidden_norm, HiddenNorm::kLayer);
  EXPECT_EQ(wide.predict_from, PredictFrom::kMean);
  EXPECT_EQ(wide.hops, 2u);
  EXPECT_TRUE(wide.self_features);
  const TrainConfig basic = read("layerwise", 0, false);
  EXPECT_EQ(basic.hidden_norm, HiddenNorm::kNone);
  EXPECT_EQ(basic.hops, 1u);
  EXPECT_FALSE(basic.self_features);
  // Decay was decoupled in layers with more than weights, and a penalty elsewhere.
  const auto decay = [](const char* more) {
    return ConfigFromJson(fmt::format(R"({{"method": "layerwise", "theta": "keep", "weight_decay": 0.1,
                                           "input_dropout": 0{}}})",
                                      more),
                          "config.json")
        .decoupled_weight_decay;
  };
  EXPECT_FALSE(decay(""));
  EXPECT_TRUE(decay(R"(, "hidden_norm": "layer")"));
  EXPECT_TRUE(decay(R"(, "self_features": true)"));
  EXPECT_FALSE(decay(R"(, "head": 8, "weight_decay_type": "l2")"));
  const TrainConfig sgc = read("sgc", 0, false);
  EXPECT_EQ(sgc.hops, 3u);
  EXPECT_FALSE(sgc.self_features);
  EXPECT_THROW(ConfigFromJson(R"({"reach": 2})", "by-hand.json"), Error);
}

// Configurations of earlier versions: `learned` was the controller, or the plateau rule where the rate was found.
TEST(ConfigJson, EarlierNamesAreTranslated) {
  const auto read = [](const std::string& text) { return ConfigFromJson(text, "config.json"); };
  const TrainConfig learned = read(
      R"({"method": "l2gcn", "stop": "learned", "controller": "", "controller_kind": "general", "lr": 0.1})");
  EXPECT_EQ(learned.method, "layerwise");
  EXPECT_EQ(learned.stop, StopRule::kController);
  EXPECT_FALSE(learned.paper_controller);
  EXPECT_EQ(learned.controller_file, "");
  EXPECT_EQ(read(R"({"method": "l2gcn", "stop": "learned", "controller": "", "lr": "auto"})").stop,
            StopRule::kPlateau);
  EXPECT_EQ(read(R"({"method": "lgcn", "stop": "early"})").stop, StopRule::kEarly);
  EXPECT_EQ(read(R"({"method": "lgcn"})").stop, StopRule::kFixed);
  EXPECT_TRUE(read(R"({"controller": "", "controller_kind": "paper"})").paper_controller);
  EXPECT_EQ(read(R"({"controller": "mine.safetensors"})").controller_file, "mine.safetensors");
}

// Every configuration stored what was removed; only one that used it cannot be read.
TEST(ConfigJson, RemovedSettingsAreReadWhereTheyWereOff) {
  EXPECT_NO_THROW(ConfigFromJson(R"({"labels_as_inputs": false})", "config.json"));
  try {
    ConfigFromJson(R"({"labels_as_inputs": true})", "config.json");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_STREQ(error.what(),
                 "config.json: setting 'labels_as_inputs' was removed; it did not improve accuracy");
  }
}

// The rows agree with each other and with the tables they refer to.
TEST(Methods, RowsAreComplete) {
  std::set<std::string> names;
  for (const Method& method : Methods()) {
    EXPECT_TRUE(names.insert(method.name).second) << method.name;
    EXPECT_EQ(&FindMethod(method.name), &method);
    EXPECT_NE(std::string(method.sentence), "") << method.name;
    EXPECT_EQ(method.sampler != nullptr, method.loop == TrainingLoop::kConventional) << method.name;
    EXPECT_FALSE(method.devices.empty()) << method.name;
    for (const std::string& setting : method.settings) {
      const Field& field = FindField(setting);
      EXPECT_NE(std::find(field.methods.begin(), field.methods.end(), method.name), field.methods.end());
    }
    const TrainConfig config = ResolveConfig({{"preset", "paper"}, {"method", method.name}}, SetOf("cora"));
    EXPECT_EQ(config.method, method.name);
    EXPECT_EQ(config.stop, method.stop);
  }
  EXPECT_THROW(FindMethod("nothing"), Error);
}

TEST(ConfigJson, RoundTripsEveryField) {
  TrainConfig config = ResolveConfig({{"epochs", "3,4"},
                                      {"lr", "0.0123"},
                                      {"seed", "18446744073709551615"},
                                      {"split", "random:0.5,0.2,0.3"},
                                      {"weight-decay", "5e-06"}},
                                     SetOf("cora"));
  const TrainConfig back = ConfigFromJson(ConfigToJson(config), "config.json");
  for (const Field& field : Fields()) EXPECT_EQ(field.get(back), field.get(config)) << field.name;
  EXPECT_EQ(back.lr, 0.0123);
}

TEST(ConfigJson, HandWrittenValuesReadAsOnTheCommandLine) {
  const TrainConfig config = ConfigFromJson(
      R"({"epochs": 5, "hidden": [8, 16], "layers": "3", "lr": "auto", "threshold": 0.3, "bias": true,
          "hidden-norm": "layer", "seed": 18446744073709551615, "split": "paper"})",
      "config.json");
  EXPECT_EQ(config.epochs, (std::vector<uint32_t>{5}));
  EXPECT_EQ(config.hidden, (std::vector<uint32_t>{8, 16}));
  EXPECT_EQ(config.layers, 3u);
  EXPECT_TRUE(config.FindsRate());
  EXPECT_EQ(FindField("threshold").get(config), "0.3");
  EXPECT_TRUE(config.bias);
  EXPECT_EQ(config.hidden_norm, HiddenNorm::kLayer);
  EXPECT_EQ(config.seed, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(OverridesFromJson(R"({"epochs": 5})", "config.json"), (Overrides{{"epochs", "5"}}));
}

TEST(ConfigJson, MistakesNameTheFile) {
  const auto read = [](const std::string& text) {
    return MessageOf(ErrorKind::kInput, [&] { ConfigFromJson(text, "run/config.json"); });
  };
  EXPECT_NE(read("{").find("run/config.json: not JSON at byte"), std::string::npos);
  EXPECT_NE(read("[]").find("expected a JSON object"), std::string::npos);
  EXPECT_NE(read(R"({"laers": 2})").find("'layers'"), std::string::npos);
  EXPECT_NE(read(R"({"layers": [2]})").find("layers: expected a number from 1 to 64, found a list"),
            std::string::npos);
  EXPECT_NE(read(R"({"layers": true})").find("--layers true: expected a whole number"), std::string::npos);
  EXPECT_NE(
      read(R"({"epochs": {"first": 5}})").find("epochs: expected a number or a list of numbers from 1 to"),
      std::string::npos);
  EXPECT_NE(read(R"({"epochs": [[5]]})").find("found a list of something else"), std::string::npos);
  EXPECT_NE(read(R"({"epochs": []})").find("epochs: expected"), std::string::npos);
  EXPECT_NE(read(R"({"bias": null})").find("bias: expected true or false, found null"), std::string::npos);
  EXPECT_NE(read("{\"epochs\": " + std::string(100000, '[')).find("run/config.json"), std::string::npos);
  EXPECT_NE(read(R"({"layers": 0})").find("from 1 to 64"), std::string::npos);
  EXPECT_NE(read(R"({"epochs": [3, -1]})").find("--epochs -1"), std::string::npos);
}

TEST(NearestName, CountsSwapsOnce) {
  EXPECT_EQ(NearestName("trian", {"predict", "train", "info"}), "train");
  EXPECT_EQ(NearestName("x", {}), "");
}

TEST(NearestName, KnowsTheNamesOfOtherLibraries) {
  const std::vector<std::string> settings = {"seed", "threads", "lr", "layers", "stop"};
  EXPECT_EQ(NearestName("random_state", settings), "seed");
  EXPECT_EQ(NearestName("n_jobs", settings), "threads");
  EXPECT_EQ(NearestName("learning_rate", settings), "lr");
  EXPECT_EQ(NearestName("num-layers", settings), "layers");
  EXPECT_EQ(NearestName("seed", {"random_state", "n_jobs"}), "random_state");
  EXPECT_EQ(Suggestion("--learning-rate", {"--lr", "--layers"}), ": did you mean '--lr'?");
  EXPECT_EQ(Suggestion("trian", {"predict", "train"}), ": did you mean 'train'?");
  EXPECT_EQ(Suggestion("--mem", {"--method", "--memory"}), ": did you mean '--memory'?");
  EXPECT_EQ(Suggestion("help", {"generate", "embed"}), "");
  EXPECT_EQ(Suggestion("x", {}), "");
}

TEST(FieldsTest, NumbersTellTheirRange) {
  EXPECT_EQ(FindField("layers").range, "from 1 to 64");
  EXPECT_EQ(FindField("dropout").range, "from 0 to below 1");
  EXPECT_EQ(FindField("hidden").range, "from 1 to 1048576");  // of each number in the list
  EXPECT_EQ(FindField("adjacency").range, "");                // words have choices
}

}  // namespace
}  // namespace l2gcn
