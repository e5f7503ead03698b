// What a look sees, against logits that are computed another way.
#include "train/validation_probe.h"

#include <gtest/gtest.h>

#include "model/metrics.h"
#include "small_dataset.h"
#include "train/layer_setup.h"

namespace l2gcn {
namespace {

// A probe that has seen the first layer end and the second, which is the last, begin; and that layer in training.
struct TwoLayers {
  Context context = MakeContext(2);
  Dataset dataset;
  TrainConfig config = SmallConfig();
  SplitNodes nodes;
  LayerPipeline pipeline;
  LayerState first, second;
  TensorPtr xhat;
  std::unique_ptr<LayerTraining> training;

  TwoLayers(bool multilabel, bool sparse, const std::string& setting)
      : dataset(SmallDataset(multilabel, sparse)),
        nodes(ResolveSplit(dataset, config.split, 0)),
        pipeline(context, dataset, (config.setting = setting, config), nodes.train) {
    const TensorPtr x = pipeline.Input(context);
    xhat = pipeline.Aggregate(context, 0, x);
    first = LayerStart(config, 0, xhat->cols, dataset.labels.classes, {});
    xhat = pipeline.Aggregate(context, 1, pipeline.Transform(context, *xhat, first.block()));
    second = LayerStart(config, 1, xhat->cols, dataset.labels.classes, first);
    training =
        pipeline.backend().BeginLayer(context, xhat, pipeline.SampleRows(),
                                      TargetsOf(dataset.labels, nodes.train), LayerSpecOf(config, 1), second);
  }

  ValidationLook Look(size_t panel_bytes) {
    ValidationProbe probe(context, pipeline, dataset, nodes, 1, panel_bytes);
    probe.BeginLayer(false);
    probe.EndLayer(first.block());
    probe.BeginLayer(true);
    probe.ShareInput(xhat);
    return probe.Look(*training);
  }

  // Over the whole graph, as inference computes it.
  ValidationScore Expected() {
    const TensorPtr h = pipeline.ForwardWhole(context, pipeline.Input(context), first.block());
    const TensorPtr out = pipeline.ForwardWhole(context, h, second.block());
    return ScoreNodes(context, dataset.labels, nodes.val,
                      pipeline.backend().Logits(context, *out, second.theta, nodes.val));
  }
};

TEST(ValidationProbe, SeesWhatInferenceComputes) {
  for (const char* setting : {"inductive", "transductive"}) {
    for (const bool multilabel : {false, true}) {
      TwoLayers layers(multilabel, false, setting);
      const ValidationScore expected = layers.Expected();
      const ValidationLook look = layers.Look(size_t{1} << 20);
      EXPECT_NEAR(look.score.loss, expected.loss, 1e-5) << setting;
      EXPECT_NEAR(look.score.f1, expected.f1, 1e-9) << setting;
      double sum = 0;
      for (const float loss : look.losses) sum += double{loss};
      EXPECT_NEAR(sum / static_cast<double>(look.losses.size()), look.score.loss, 1e-6);
    }
  }
}

TEST(ValidationProbe, PanelsOfColumnsChangeNothing) {
  for (const bool sparse : {false, true}) {
    TwoLayers layers(false, sparse, "inductive");
    const ValidationLook whole = layers.Look(size_t{1} << 20),
                         panels = layers.Look(1);  // 16 and 8 columns at once
    ASSERT_EQ(whole.losses.size(), panels.losses.size());
    for (size_t i = 0; i < whole.losses.size(); ++i) EXPECT_NEAR(whole.losses[i], panels.losses[i], 1e-5f);
    EXPECT_EQ(whole.score.f1, panels.score.f1);
  }
}

TEST(ValidationProbe, LooksAtLabelledNodesAlone) {
  TwoLayers layers(false, false, "inductive");
  const size_t before = layers.Look(1).losses.size();
  layers.dataset.labels.classes_of.mutable_data()[layers.nodes.val.front()] = -1;
  EXPECT_EQ(layers.Look(1).losses.size(), before - 1);
}

}  // namespace
}  // namespace l2gcn
