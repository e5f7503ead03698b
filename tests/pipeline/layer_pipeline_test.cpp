#include "pipeline/layer_pipeline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "graph/build.h"
#include "l2gcn/error.h"
#include "l2gcn/train.h"
#include "model/inference.h"
#include "run/evaluation.h"
#include "train/layerwise_trainer.h"
#include "train/small_dataset.h"
#include "train/stop_policy.h"
#include "train/training_set.h"

namespace l2gcn {
namespace {

SplitNodes SmallNodes(const Dataset& dataset) { return ResolveSplit(dataset, "random:0.5,0.2,0.3", 0); }

// D^-½(A+I)D^-½ x by its definition, in double.
std::vector<std::vector<double>> SmoothedByHand(const Graph& graph, std::vector<std::vector<double>> x) {
  const auto degree = [&](uint32_t node) {
    return 1.0 + static_cast<double>(graph.indptr[node + 1] - graph.indptr[node]);
  };
  std::vector<std::vector<double>> out(x.size(), std::vector<double>(x.front().size(), 0.0));
  for (uint32_t i = 0; i < graph.nodes; ++i) {
    for (size_t c = 0; c < out[i].size(); ++c) {
      out[i][c] = x[i][c] / degree(i);
      for (uint64_t e = graph.indptr[i]; e < graph.indptr[i + 1]; ++e) {
        const uint32_t j = graph.indices[e];
        out[i][c] += x[j][c] / std::sqrt(degree(i) * degree(j));
      }
    }
  }
  return out;
}

// D⁻¹A x by its definition; a node without neighbours gets zeros.
std::vector<std::vector<double>> MeanByHand(const Graph& graph, const std::vector<std::vector<double>>& x) {
  std::vector<std::vector<double>> out(x.size(), std::vector<double>(x.front().size(), 0.0));
  for (uint32_t i = 0; i < graph.nodes; ++i) {
    const double degree = static_cast<double>(graph.indptr[i + 1] - graph.indptr[i]);
    for (uint64_t e = graph.indptr[i]; e < graph.indptr[i + 1]; ++e) {
      for (size_t c = 0; c < out[i].size(); ++c) out[i][c] += x[graph.indices[e]][c] / degree;
    }
  }
  return out;
}

TEST(LayerPipeline, SmoothsFeaturesOverTheWholeGraphInBothSettings) {
  const Context context = MakeContext(2);
  for (const char* setting : {"inductive", "transductive"}) {
    for (bool sparse : {false, true}) {
      const Dataset dataset = SmallDataset(false, sparse);
      TrainConfig config = SmallConfig();
      FindField("setting").set(config, setting);
      const auto features = [&](uint32_t smooth) {
        config.smooth = smooth;
        LayerPipeline pipeline(context, dataset, config, SmallNodes(dataset).train);
        return pipeline.backend().Download(context, *pipeline.Input(context));
      };
      const Matrix plain = features(0);
      std::vector<std::vector<double>> expected(plain.rows);
      for (size_t i = 0; i < plain.rows; ++i) expected[i].assign(plain.row(i), plain.row(i) + plain.cols);
      for (uint32_t smooth : {1u, 2u}) {
        expected = SmoothedByHand(dataset.graph, expected);
        const Matrix smoothed = features(smooth);
        for (size_t i = 0; i < smoothed.rows; ++i) {
          for (size_t c = 0; c < smoothed.cols; ++c) {
            ASSERT_NEAR(smoothed.row(i)[c], expected[i][c], 1e-5) << setting << " " << sparse << " " << i;
          }
        }
      }
    }
  }
}

// Smoothing changes what is learned, and evaluation from a stored model sees the same features as training.
TEST(LayerPipeline, SmoothingIsPartOfTheModel) {
  const Dataset dataset = SmallDataset();
  TrainConfig config = SmallConfig();
  const Trained plain = Train(MakeContext(1), dataset, config);
  config.smooth = 2;
  config.val_every = config.epochs.front();
  Trained smoothed = Train(MakeContext(1), dataset, config);
  EXPECT_NE(plain.result.layers[0].losses, smoothed.result.layers[0].losses);
  const Matrix again = PredictLogits(MakeContext(1), smoothed.model, dataset);
  const Score score = ScoreLogits(MakeContext(1), dataset, again, smoothed.split, Role::kVal);
  EvaluateTrained(MakeContext(1), dataset, smoothed);
  EXPECT_EQ(smoothed.result.f1_val, score.micro_f1);
  EXPECT_NEAR(smoothed.result.validation.back().f1, score.micro_f1, 1e-12);
}

// [X⁰ | X | Â₁X | Â₂X | Â₁²X | Â₂²X] in training, for every node and for picked ones.
TEST(LayerPipeline, BlocksOfSeveralOperatorsFollowHopByHop) {
  const Context context = MakeContext(2);
  for (const bool sparse : {false, true}) {
    const Dataset dataset = SmallDataset(false, sparse);
    TrainConfig config = SmallConfig();
    config.transductive = true;
    config.self_features = config.raw_features = true;
    config.hops = 2;
    config.adjacency = {Adjacency::kSym, Adjacency::kMean};
    LayerPipeline pipeline(context, dataset, config, SmallNodes(dataset).train);
    Backend& backend = pipeline.backend();
    const TensorPtr x = pipeline.Input(context);
    const LayerInput first = pipeline.Aggregate(context, 0, x), second = pipeline.Aggregate(context, 1, x);
    EXPECT_EQ(first.cols(), InputColumns(config, 0, x->cols, x->cols));
    EXPECT_EQ(second.cols(), InputColumns(config, 1, x->cols, x->cols));
    std::vector<std::vector<double>> sym(dataset.nodes()), mean(dataset.nodes());
    const Matrix raw = backend.Download(context, *x);
    for (uint32_t i = 0; i < dataset.nodes(); ++i)
      sym[i] = mean[i] = std::vector<double>(raw.row(i), raw.row(i) + raw.cols);
    std::vector<std::vector<std::vector<double>>> expected = {sym};
    for (int hop = 0; hop < 2; ++hop) {
      expected.push_back(sym = SmoothedByHand(dataset.graph, sym));
      expected.push_back(mean = MeanByHand(dataset.graph, mean));
    }
    // One layer that copies its input shows the blocks, whatever kinds they are stored as.
    const auto check = [&](const LayerInput& input, bool with_raw) {
      size_t column = 0;
      std::vector<std::vector<std::vector<double>>> blocks = expected;
      if (with_raw) blocks.insert(blocks.begin(), expected.front());
      Matrix copy = Matrix::Zeros(input.cols(), input.cols());
      for (size_t c = 0; c < input.cols(); ++c) copy.mutable_row(c)[c] = 1;
      const Matrix positive = backend.Download(context, *backend.Transform(context, input, copy));
      for (const auto& block : blocks) {
        for (size_t i = 0; i < positive.rows; ++i) {
          for (size_t c = 0; c < raw.cols; ++c)
            ASSERT_NEAR(positive.row(i)[column + c], std::max(0.0, block[i][c]), 1e-4) << i << " " << c;
        }
        column += raw.cols;
      }
      EXPECT_EQ(column, input.cols());
    };
    check(first, false);
    check(second, true);
  }
}

TEST(LayerPipeline, HoldsTrainNodesAloneOnlyWhereTheyAreAllThatIsAggregated) {
  const Context context = MakeContext(1);
  const Dataset dataset = SmallDataset();
  const SplitNodes nodes = SmallNodes(dataset);
  TrainConfig config = SmallConfig();
  LayerPipeline inductive(context, dataset, config, nodes.train);
  const LayerInput xhat = inductive.Aggregate(context, 0, inductive.Input(context));
  EXPECT_EQ(xhat.rows(), nodes.train.size());
  EXPECT_TRUE(inductive.SampleRows().empty());
  EXPECT_EQ(inductive.SampleRows(0, 0).size(), nodes.train.size());  // without a hop every node is held
  EXPECT_EQ(inductive.Aggregate(context, 0, inductive.Input(context), 0).rows(), dataset.nodes());

  config.transductive = true;
  LayerPipeline transductive(context, dataset, config, nodes.train);
  const LayerInput all = transductive.Aggregate(context, 0, transductive.Input(context));
  EXPECT_EQ(all.rows(), dataset.nodes());
  const Array<uint32_t> samples = transductive.SampleRows();
  EXPECT_EQ(std::vector<uint32_t>(samples.begin(), samples.end()), nodes.train);
  EXPECT_EQ(transductive.TrainRows(context, *all.blocks.front()).rows, nodes.train.size());
  // The train operator is that of the whole graph: it is not built twice.
  EXPECT_EQ(&transductive.WholeOperator(context), &transductive.TrainOperator(context));
}

TEST(LayerPipeline, KeepsTheInputOnlyWhereItCostsNothing) {
  const Context context = MakeContext(1);
  const Dataset dataset = SmallDataset();
  const std::vector<uint32_t> train = SmallNodes(dataset).train;
  const auto kept = [&](const TrainConfig& config) {
    LayerPipeline pipeline(context, dataset, config, train);
    const std::weak_ptr<const Tensor> input = pipeline.Input(context);
    pipeline.ReleaseInput();
    return !input.expired();
  };
  TrainConfig config = SmallConfig();
  EXPECT_TRUE(kept(config));
  config.smooth = 1;
  EXPECT_FALSE(kept(config));
  config = SmallConfig();
  config.features_as = FeatureType::kF16;
  EXPECT_FALSE(kept(config));
}

TrainedSeed FitFixed(const Context& context, const Dataset& dataset, const TrainConfig& config) {
  FixedEpochs policy;
  return FitLayerwise(context, dataset, ResolveSplit(dataset, config.split, config.seed), config, policy);
}

// Evaluation takes over the trainer's pipeline, or makes one of its own: the scores are the same.
TEST(LayerPipeline, EvaluationReusesIt) {
  const Dataset dataset = SmallDataset(), copy = SmallDataset();
  for (const char* scale : {"none", "standard"}) {
    TrainConfig config = SmallConfig();
    FindField("scale").set(config, scale);
    auto [reused, pipeline] = FitFixed(MakeContext(1), dataset, config);
    ASSERT_NE(pipeline, nullptr);
    Trained anew = reused, elsewhere = reused;
    Evaluate(MakeContext(1), dataset, std::move(pipeline), reused);
    EvaluateTrained(MakeContext(1), dataset, anew);
    EvaluateTrained(MakeContext(1), copy, elsewhere);
    EXPECT_EQ(reused.result.f1_test, anew.result.f1_test);
    EXPECT_EQ(reused.result.f1_test, elsewhere.result.f1_test);
  }
}

// Looks at validation nodes outside the train graph compute inner layers for every node. Evaluation does not compute
// them again, and its logits have the bits of a fresh start, with one layer's form and with the other.
TEST(LayerPipeline, InnerLayersThatLooksMadeServeEvaluation) {
  const Context context = MakeContext(2);
  const Dataset dataset = SmallDataset();
  for (const bool wide : {false, true}) {
    TrainConfig config = SmallConfig();
    config.transductive = false;
    config.layers = 3;
    config.hidden = {16};
    config.epochs = {3};
    config.val_every = 1;
    if (wide)
      config.hops = 2, config.self_features = true, config.hidden_norm = HiddenNorm::kLayer, config.head = 8;
    const TrainedSeed seed = FitFixed(context, dataset, config);
    const Model& model = seed.trained.model;
    for (const size_t layer : {0u, 1u}) {
      const HiddenParameters& hidden = model.layers[layer];
      const TensorPtr kept = seed.pipeline->KeptWhole(layer, hidden);
      ASSERT_NE(kept, nullptr) << wide << layer;
      EXPECT_EQ(kept->rows, dataset.nodes());
      HiddenParameters other = hidden;
      other.weight = hidden.weight.Clone();
      EXPECT_EQ(seed.pipeline->KeptWhole(layer, other), nullptr) << "other weights";
      other = hidden;
      other.norm_weight = Matrix::Zeros(1, hidden.weight.cols);
      EXPECT_EQ(seed.pipeline->KeptWhole(layer, other), nullptr) << "another norm";
    }
    EXPECT_EQ(seed.pipeline->KeptWhole(2, model.layers[2]), nullptr);
    const Matrix again = Inference(seed.pipeline).Logits(context, model, {});
    const Matrix fresh =
        Inference(std::make_shared<LayerPipeline>(context, dataset, model)).Logits(context, model, {});
    ASSERT_EQ(again.bytes(), fresh.bytes());
    EXPECT_EQ(std::memcmp(again.values.data(), fresh.values.data(), fresh.bytes()), 0) << wide;
  }
}

// Transductive training computes every layer for every node, the last one as far as its input.
TEST(LayerPipeline, TransductiveTrainingServesEvaluation) {
  const Context context = MakeContext(2);
  for (const bool sparse : {false, true}) {
    for (const uint32_t layers : {1u, 3u}) {
      const Dataset dataset = SmallDataset(false, sparse);
      TrainConfig config = SmallConfig();
      config.transductive = true;
      config.layers = layers;
      config.hidden = {16};
      config.epochs = {3};
      config.hops = 2, config.self_features = true, config.hidden_norm = HiddenNorm::kLayer, config.head = 8;
      const TrainedSeed seed = FitFixed(context, dataset, config);
      const Model& model = seed.trained.model;
      for (size_t layer = 0; layer + 1 < layers; ++layer)
        EXPECT_NE(seed.pipeline->KeptWhole(layer, model.layers[layer]), nullptr) << layer;
      HiddenParameters other = model.layers.back();
      other.weight = other.weight.Clone();
      EXPECT_TRUE(seed.pipeline->TakeLastInput(other).empty()) << "other weights";
      const Matrix again = Inference(seed.pipeline).Logits(context, model, {});
      EXPECT_TRUE(seed.pipeline->TakeLastInput(model.layers.back()).empty()) << "it was not used";
      const Matrix fresh =
          Inference(std::make_shared<LayerPipeline>(context, dataset, model)).Logits(context, model, {});
      ASSERT_EQ(again.bytes(), fresh.bytes());
      EXPECT_EQ(std::memcmp(again.values.data(), fresh.values.data(), fresh.bytes()), 0) << sparse << layers;
    }
  }
}

TEST(LayerPipeline, KeepsNoLargeOutputs) {
  const Context context = MakeContext(1);
  const Dataset dataset = SmallDataset();
  LayerPipeline pipeline(context, dataset, SmallConfig(), SmallNodes(dataset).train);
  const HiddenParameters hidden(Matrix::Zeros(2, 2)), next(Matrix::Zeros(2, 2));
  const TensorPtr output = pipeline.backend().Upload(context, Features::Dense(Matrix::Zeros(100, 10)));
  EXPECT_FALSE(pipeline.KeepWhole(hidden, output, output->bytes - 1));
  EXPECT_EQ(pipeline.KeptWhole(0, hidden), nullptr);
  EXPECT_TRUE(pipeline.KeepWhole(hidden, output, output->bytes));
  EXPECT_FALSE(pipeline.KeepWhole(next, output, output->bytes)) << "more than that in all layers";
}

TEST(LayerPipeline, AnotherTrainingKeepsItsOwnOutputs) {
  const Context context = MakeContext(1);
  const Dataset dataset = SmallDataset();
  LayerPipeline pipeline(context, dataset, SmallConfig(), SmallNodes(dataset).train);
  const TensorPtr output = pipeline.backend().Upload(context, Features::Dense(Matrix::Zeros(3, 2)));
  const HiddenParameters before(Matrix::Zeros(2, 2)), hidden(Matrix::Zeros(2, 2));
  EXPECT_TRUE(pipeline.KeepWhole(before, output, output->bytes));
  EXPECT_EQ(pipeline.KeptWhole(0, before), output);
  pipeline.Aggregate(context, 0, pipeline.Input(context));
  EXPECT_EQ(pipeline.KeptWhole(0, before), nullptr);
  EXPECT_TRUE(pipeline.KeepWhole(hidden, output, output->bytes));
  pipeline.Aggregate(context, 1, pipeline.Input(context));
  EXPECT_EQ(pipeline.KeptWhole(0, hidden), output);
}

}  // namespace
}  // namespace l2gcn
