// Layers that are not plain, in a whole training: what they read, what they keep, and that they learn.
#include <gtest/gtest.h>

#include <filesystem>

#include "l2gcn/error.h"
#include "l2gcn/train.h"
#include "model/correct_and_smooth.h"
#include "same_model.h"
#include "small_dataset.h"

namespace l2gcn {
namespace {

TrainConfig BestConfig() {
  TrainConfig config = SmallConfig();
  config.method = "lgcn";
  config.hidden = {16};
  config.epochs = {8};
  config.hops = 2, config.self_features = true;
  config.hidden_norm = HiddenNorm::kLayer;
  config.head = 12;
  config.dropout = 0.3;
  config.input_dropout = 0.2;
  config.adjacency = {Adjacency::kSym};
  config.stop = StopRule::kEarly;
  config.watch = Watch::kValidationF1;
  config.patience = 4;
  config.predict_from = PredictFrom::kAuto;
  config.correct = Choice::kAuto;
  return config;
}

Trained TrainedOn(const Dataset& dataset, const TrainConfig& config, uint32_t threads = 2) {
  const Context context = MakeContext(threads);
  Trained trained = Train(context, dataset, config);
  EvaluateTrained(context, dataset, trained);
  return trained;
}

// Gives every node of `role` another class, or the opposite labels.
Dataset Relabelled(Dataset dataset, const Split& split, Role role) {
  Labels& labels = dataset.labels;
  for (uint32_t i = 0; i < dataset.nodes(); ++i) {
    if (split.roles[i] != static_cast<uint8_t>(role)) continue;
    if (labels.multilabel) {
      for (uint32_t c = 0; c < labels.classes; ++c) labels.matrix.mutable_data()[i * labels.classes + c] ^= 1;
    } else if (labels.classes_of[i] >= 0) {
      labels.classes_of.mutable_data()[i] = (labels.classes_of[i] + 1) % static_cast<int32_t>(labels.classes);
    }
  }
  return dataset;
}

struct Ingredient {
  const char* name;
  void (*turn_on)(TrainConfig&);
};
constexpr Ingredient kIngredients[] = {
    {"all", [](TrainConfig&) {}},
    {"no head", [](TrainConfig& c) { c.head = 0; }},
    {"bias", [](TrainConfig& c) { c.hidden_norm = HiddenNorm::kNone, c.bias = true; }},
    {"no norm", [](TrainConfig& c) { c.hidden_norm = HiddenNorm::kNone; }},
    {"batch norm", [](TrainConfig& c) { c.hidden_norm = HiddenNorm::kBatch; }},
    {"no powers", [](TrainConfig& c) { c.hops = 1, c.self_features = false; }},
    {"two operators",
     [](TrainConfig& c) {
       c.adjacency = {Adjacency::kSym, Adjacency::kMean};
     }},
    {"raw features",
     [](TrainConfig& c) {
       c.raw_features = true;
       c.adjacency = {Adjacency::kMean, Adjacency::kSym};
     }},
    {"powers alone",
     [](TrainConfig& c) { c.hidden_norm = HiddenNorm::kNone, c.head = 0, c.input_dropout = 0; }},
    {"mean", [](TrainConfig& c) { c.predict_from = PredictFrom::kMean; }},
    {"label propagation", [](TrainConfig& c) { c.correct = Choice::kOn; }},
};

TEST(Best, TestLabelsAreNeverRead) {
  for (bool multilabel : {false, true}) {
    for (const char* setting : {"inductive", "transductive"}) {
      for (const Ingredient& ingredient : kIngredients) {
        const Dataset dataset = SmallDataset(multilabel);
        TrainConfig config = BestConfig();
        FindField("setting").set(config, setting);
        if (multilabel) config.choose_threshold = true;
        ingredient.turn_on(config);
        const Trained before = TrainedOn(dataset, config);
        const Dataset other = Relabelled(dataset, before.split, Role::kTest);
        const Trained after = TrainedOn(other, config);
        EXPECT_TRUE(SameModel(before.model, after.model)) << ingredient.name;
        EXPECT_EQ(before.model.thresholds, after.model.thresholds) << ingredient.name;
        const Context context = MakeContext(1);
        EXPECT_TRUE(SameBits(PredictLogits(context, before.model, dataset, &before.split),
                             PredictLogits(context, after.model, other, &after.split)))
            << ingredient.name;
      }
    }
  }
}

// With fixed epochs validation chooses the prediction alone, and no weight.
TEST(Best, ValidationLabelsChooseAndDoNotTrain) {
  for (const Ingredient& ingredient : kIngredients) {
    const Dataset dataset = SmallDataset();
    TrainConfig config = BestConfig();
    config.stop = StopRule::kFixed;
    ingredient.turn_on(config);
    const Trained before = TrainedOn(dataset, config);
    Trained after = TrainedOn(Relabelled(dataset, before.split, Role::kVal), config);
    after.model.mean_of_layers = before.model.mean_of_layers;
    after.model.label_propagation = before.model.label_propagation;
    EXPECT_TRUE(SameModel(before.model, after.model)) << ingredient.name;
  }
}

TEST(Best, SameModelForAnyThreadCount) {
  for (bool sparse : {false, true}) {
    for (const char* setting : {"inductive", "transductive"}) {
      const Dataset dataset = SmallDataset(false, sparse, 900);
      TrainConfig config = BestConfig();
      FindField("setting").set(config, setting);
      config.hidden_norm = sparse ? HiddenNorm::kBatch : HiddenNorm::kLayer;
      config.batch = 300;
      const Trained first = TrainedOn(dataset, config, 1);
      for (uint32_t threads : {2u, 4u})
        EXPECT_TRUE(SameModel(first.model, TrainedOn(dataset, config, threads).model)) << setting << threads;
    }
  }
}

TEST(Best, StoredModelsPredictTheSame) {
  const Context context = MakeContext(2);
  for (const Ingredient& ingredient : kIngredients) {
    const Dataset dataset = SmallDataset(false, true);
    TrainConfig config = BestConfig();
    ingredient.turn_on(config);
    const Trained trained = TrainedOn(dataset, config);
    const std::filesystem::path directory = std::filesystem::path(::testing::TempDir()) / "best-model";
    std::filesystem::remove_all(directory);
    SaveModel(trained.model, directory.string());
    const Model loaded = LoadModel(directory.string());
    EXPECT_TRUE(SameModel(trained.model, loaded)) << ingredient.name;
    EXPECT_TRUE(SameBits(PredictLogits(context, trained.model, dataset, &trained.split),
                         PredictLogits(context, loaded, dataset, &trained.split)))
        << ingredient.name;
    // What evaluation scored is what predict says.
    const Matrix logits = PredictLogits(context, loaded, dataset, &trained.split);
    const Score score = ScoreClasses(dataset, logits, trained.split, Role::kTest, loaded.thresholds);
    EXPECT_EQ(score.micro_f1, trained.result.f1_test) << ingredient.name;
    // Without a head, or with one of another shape, a model is damaged.
    if (ingredient.turn_on != kIngredients[0].turn_on) continue;
    Model torn = loaded;
    torn.heads.pop_back();
    EXPECT_THROW(PredictLogits(context, torn, dataset), Error);
    torn = loaded;
    torn.layers[0].norm_bias = Matrix::Zeros(2, 16);
    EXPECT_THROW(PredictLogits(context, torn, dataset), Error);
  }
}

TEST(Best, LearnsWhatThePlainLayerLearns) {
  const Dataset dataset = SmallDataset(false, false, 900);
  TrainConfig config = BestConfig();
  config.epochs = {20};
  config.batch = 128;
  config.lr = 0.01;
  for (const char* setting : {"inductive", "transductive"}) {
    FindField("setting").set(config, setting);
    EXPECT_GT(TrainedOn(dataset, config).result.f1_test, 0.9) << setting;
  }
}

// Predictions of basic layers can be propagated, too, and a stored model repeats it.
TEST(Best, BasicLayersPropagateLabelsWhereAskedTo) {
  const Context context = MakeContext(1);
  const Dataset dataset = SmallDataset();
  TrainConfig config = SmallConfig();
  config.method = "lgcn";
  config.stop = StopRule::kFixed;
  config.correct = Choice::kOn;
  const Trained trained = TrainedOn(dataset, config);
  EXPECT_TRUE(trained.model.label_propagation.on());
  const Matrix logits = PredictLogits(context, trained.model, dataset, &trained.split);
  EXPECT_EQ(ScoreClasses(dataset, logits, trained.split, Role::kTest).micro_f1, trained.result.f1_test);
  EXPECT_FALSE(SameBits(logits, PredictLogits(context, trained.model, dataset)));
}

// One round of label propagation by its definition, from uniform predictions.
TEST(Best, PropagatesLabelsByTheFormula) {
  const Context context = MakeContext(1);
  Dataset dataset = SmallDataset();
  const Trained trained = TrainedOn(dataset, BestConfig());
  LayerPipeline pipeline(context, dataset, trained.model);
  const Matrix logits = Matrix::Zeros(dataset.nodes(), dataset.labels.classes);  // all classes equally likely
  const std::vector<uint32_t> train = TrainNodes(dataset.labels, trained.split);
  const Model::LabelPropagation once{0, 0.5, 1};
  Matrix spread = CorrectAndSmooth(context, pipeline, dataset.labels, train, logits, once);
  for (float& value : spread.values.mutable_span()) value = std::exp(value);
  const auto degree = [&](uint32_t node) {
    return 1.0 + static_cast<double>(dataset.graph.indptr[node + 1] - dataset.graph.indptr[node]);
  };
  const auto start = [&](uint32_t node, uint32_t c) {
    const bool trains = std::find(train.begin(), train.end(), node) != train.end();
    return trains ? (dataset.labels.classes_of[node] == static_cast<int32_t>(c) ? 1.0 : 0.0)
                  : 1.0 / dataset.labels.classes;
  };
  for (uint32_t node = 0; node < 30; ++node) {
    for (uint32_t c = 0; c < dataset.labels.classes; ++c) {
      double sum = start(node, c) / degree(node);
      for (uint64_t e = dataset.graph.indptr[node]; e < dataset.graph.indptr[node + 1]; ++e) {
        const uint32_t other = dataset.graph.indices[e];
        sum += start(other, c) / std::sqrt(degree(node) * degree(other));
      }
      EXPECT_NEAR(spread.row(node)[c], 0.5 * start(node, c) + 0.5 * sum, 1e-5) << node;
    }
  }
}

// Where nearly everything is dropped no gradient reaches a weight: those of every layer and every block stay at their start.
TEST(Best, InputDropoutActsOnTheWholeInputOfEveryLayer) {
  const Dataset dataset = SmallDataset();
  TrainConfig config = BestConfig();
  config.layers = 2;
  config.stop = StopRule::kFixed;
  config.hidden_norm = HiddenNorm::kNone;
  config.head = 0;
  config.dropout = config.weight_decay = 0;
  const auto trained = [&](double input_dropout, uint32_t epochs) {
    config.input_dropout = input_dropout;
    config.epochs = {epochs};
    return Train(MakeContext(2), dataset, config).model.layers;
  };
  const auto all = trained(0.9999999, 1), more_of_all = trained(0.9999999, 4);
  const auto none = trained(0, 1), more_of_none = trained(0, 4);
  for (size_t layer = 0; layer < 2; ++layer) {
    EXPECT_TRUE(SameBits(all[layer].weight, more_of_all[layer].weight)) << layer;
    EXPECT_FALSE(SameBits(none[layer].weight, more_of_none[layer].weight)) << layer;
  }
}

}  // namespace
}  // namespace l2gcn
