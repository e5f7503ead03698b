// Scores a trained network on the parts of its split, after choosing by the validation nodes what its predictions are made
// from: the last layer or all of them, Correct & Smooth, thresholds.
#include "run/evaluation.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "config/methods.h"
#include "core/clock.h"
#include "core/error_format.h"
#include "core/memory_meter.h"
#include "core/usable.h"
#include "model/correct_and_smooth.h"
#include "model/counts.h"
#include "model/finite.h"
#include "model/inference.h"
#include "model/score.h"
#include "model/thresholds.h"
#include "pipeline/layer_pipeline.h"
#include "train/training_set.h"

namespace l2gcn {
namespace {

// Where the configuration asks for thresholds: those of the validation nodes, or the given one.
std::vector<double> ThresholdsFor(const Context& context, const Dataset& dataset, const Matrix& logits,
                                  const Trained& trained) {
  const TrainConfig& config = trained.model.config;
  if (config.ChoosesThreshold()) {
    const std::vector<uint32_t> nodes = NodesWithRole(trained.split, Role::kVal);
    return ChooseThresholds(context, dataset.labels, nodes, logits);
  }
  if (!config.threshold) return {};
  return std::vector<double>(dataset.labels.multilabel ? dataset.labels.classes : 1, *config.threshold);
}

// Logs what validation chose after training, where there was a choice.
void LogPrediction(const Context& context, const Model& model) {
  const TrainConfig& config = model.config;
  if (config.correct == Choice::kOff && (model.heads.empty() || config.predict_from != PredictFrom::kAuto))
    return;
  std::string text = model.task() == Task::kRegression ? "predictions" : "probabilities";
  text += model.mean_of_layers ? " are the mean of the layers'" : " are the last layer's";
  const Model::LabelPropagation& propagation = model.label_propagation;
  if (propagation.correct > 0)
    text += fmt::format("; residuals of train nodes are propagated ({})", propagation.correct);
  if (propagation.smooth > 0)
    text += fmt::format("; labels of train nodes are propagated ({})", propagation.smooth);
  context.Note(fmt::format("seed {}: {}", model.config.seed, text));
}

// Logits of every node by the prediction that the model has or that validation chooses. Releases the pipeline.
Matrix LogitsOf(const Context& context, const Dataset& dataset, std::shared_ptr<LayerPipeline> pipeline,
                Trained& trained) {
  Inference inference(std::move(pipeline));
  std::vector<Matrix> of_layers;
  if (trained.model.heads.empty()) {
    of_layers.push_back(inference.Logits(context, trained.model, {}));
    if (trained.model.config.correct == Choice::kOff) return of_layers.back();
  } else {
    of_layers = inference.LogitsOfLayers(context, trained.model);
  }
  return ChoosePrediction(context, inference.pipeline(), dataset, trained.split, std::move(of_layers),
                          trained.model);
}

// Whether answers are the largest of logits X Θ and nothing else, so that they can be counted where X lies.
bool AnswersAreCounted(const Model& model) {
  return model.task() != Task::kRegression && model.heads.empty() && model.config.correct == Choice::kOff &&
         !model.config.HasThreshold() &&
         FindMethod(model.config.method).prediction_head == PredictionHead::kClassifier;
}

double* F1Of(Role role, SeedResult& result) {
  return role == Role::kTrain ? &result.f1_train : role == Role::kVal ? &result.f1_val : &result.f1_test;
}
double* BaselineOf(Role role, SeedResult& result) {
  return role == Role::kTrain ? &result.baseline_train
         : role == Role::kVal ? &result.baseline_val
                              : &result.baseline_test;
}
Score::Numbers* FiguresOf(Role role, SeedResult::Regression& result) {
  return role == Role::kTrain ? &result.train : role == Role::kVal ? &result.val : &result.test;
}
Score::Numbers* BaselineFiguresOf(Role role, SeedResult::Regression& result) {
  return role == Role::kTrain ? &result.baseline_train
         : role == Role::kVal ? &result.baseline_val
                              : &result.baseline_test;
}
constexpr Role kScoredParts[] = {Role::kTrain, Role::kVal, Role::kTest};
constexpr double kUnknownF1 = std::numeric_limits<double>::quiet_NaN();

// A model is worth keeping although it has no finite logits for some nodes: the parts of these nodes go without a score.
void WarnNotFinite(const Context& context, const Dataset& dataset, std::vector<uint32_t> nodes,
                   SeedResult& result, const Split& split) {
  if (nodes.empty()) return;
  for (const uint32_t node : nodes) {
    const auto role = static_cast<Role>(split.roles[node]);
    if (role != Role::kNone) *F1Of(role, result) = kUnknownF1;
  }
  std::sort(nodes.begin(), nodes.end());
  context.Warn(
      fmt::format("{}: the model has no finite logits for {}; parts of the split with such nodes have no "
                  "score, and predict and "
                  "evaluate refuse this data until the values are replaced",
                  PlaceOf(dataset), DescribeNotFinite(dataset, nodes)));
}

// F1 of each part by counts that are taken block by block of nodes on the device: logits are never held.
void ScoreByCounts(const Context& context, const Dataset& dataset, std::shared_ptr<LayerPipeline> pipeline,
                   Trained& trained) {
  Inference inference(std::move(pipeline));
  LayerPipeline& layers = inference.pipeline();
  Backend& backend = layers.backend();
  // Rows of the last layer that training aggregated serve again, where they are summed in the order of inference.
  const HiddenParameters& hidden = trained.model.layers.back();
  const LayerInput xhat = layers.TakeLastInput(hidden);
  const bool again = xhat.blocks.size() == 1 && (hidden.weight.rows <= hidden.weight.cols || !hidden.basic());
  const TensorPtr x =
      again ? layers.Transform(context, xhat, hidden) : inference.LastHidden(context, trained.model);
  const auto last = static_cast<uint32_t>(trained.model.layers.size()) - 1;
  std::vector<uint32_t> not_finite;
  for (const Role role : kScoredParts) {
    const std::vector<uint32_t> nodes = LabelledNodes(dataset, trained.split, role);
    double& f1 = *F1Of(role, trained.result);
    f1 = kUnknownF1;
    if (nodes.empty()) continue;
    const auto rows = backend.PrepareScoring(
        context, x, Array<uint32_t>::CopyOf(again ? layers.RowsIn(last, nodes) : nodes),
        TargetsOf(dataset.labels, nodes));
    const RowScores scores = backend.Score(context, trained.model.theta, *rows);
    f1 = Counts{scores.true_positive, scores.false_positive, scores.false_negative}.F1();
    for (size_t i = 0; i < scores.losses.size(); ++i) {
      if (!std::isfinite(scores.losses[i])) not_finite.push_back(nodes[i]);
    }
  }
  WarnNotFinite(context, dataset, std::move(not_finite), trained.result, trained.split);
}

void KeepFigures(const Score& score, Role role, SeedResult& result) {
  if (!result.regression) result.regression.emplace();
  *FiguresOf(role, *result.regression) = score.regression;
  *BaselineFiguresOf(role, *result.regression) = score.regression_baseline;
  result.baseline = score.baseline;
}

// F1 of each part, or the figures of a regression, by the logits of every node, with the prediction and the thresholds that validation chooses.
void ScoreByLogits(const Context& context, const Dataset& dataset, std::shared_ptr<LayerPipeline> pipeline,
                   Trained& trained) {
  const Matrix logits = LogitsOf(context, dataset, std::move(pipeline), trained);
  LogPrediction(context, trained.model);
  trained.model.thresholds = ThresholdsFor(context, dataset, logits, trained);
  for (const Role role : kScoredParts) {
    const Score score = ScoreClasses(dataset, logits, trained.split, role, trained.model.thresholds);
    *F1Of(role, trained.result) = score.micro_f1;
    if (trained.model.task() == Task::kRegression) KeepFigures(score, role, trained.result);
  }
  WarnNotFinite(context, dataset, RowsNotFinite(context, logits), trained.result, trained.split);
}

}  // namespace

void CountParts(const Dataset& dataset, const Split& split, SeedResult& result) {
  result.split = split.name;
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    switch (static_cast<Role>(split.roles[node])) {
      case Role::kTrain:
        ++result.train_nodes;
        break;
      case Role::kVal:
        ++result.val_nodes;
        break;
      case Role::kTest:
        ++result.test_nodes;
        break;
      case Role::kNone:
        ++(dataset.labels.IsLabelled(node) ? result.unused_nodes : result.unlabelled_nodes);
    }
  }
}

void EvaluateTrained(const Context& context, const Dataset& dataset, Trained& trained) {
  Evaluate(context, dataset, nullptr, trained);
}

void Evaluate(const Context& context, const Dataset& dataset, std::shared_ptr<LayerPipeline> pipeline,
              Trained& trained) {
  Stopwatch watch;
  StretchMeter memory;
  if (context.on_progress) {
    Progress progress;
    progress.phase = "evaluate";
    context.on_progress(progress);
  }
  if (pipeline == nullptr) pipeline = std::make_shared<LayerPipeline>(context, dataset, trained.model);
  pipeline->ReleaseTrainOperator();
  pipeline->backend().ReleaseSpareMemory();
  ReturnFreeMemory();
  SeedResult& result = trained.result;
  if (AnswersAreCounted(trained.model)) {
    ScoreByCounts(context, dataset, std::move(pipeline), trained);
  } else {
    ScoreByLogits(context, dataset, std::move(pipeline), trained);
  }
  for (const Role role : kScoredParts) {
    if (result.regression) *BaselineOf(role, result) = kUnknownF1;
    if (result.regression) continue;
    BaselineScore baseline = ScoreBaseline(dataset, trained.split, role);
    *BaselineOf(role, result) = baseline.micro_f1;
    result.baseline = std::move(baseline.name);
  }
  CountParts(dataset, trained.split, result);
  result.seconds.evaluate += watch.Seconds();
  memory.End(result.resident.evaluate);
  trained.result.peak_rss_bytes = std::max(trained.result.peak_rss_bytes, PeakResidentBytes());
}

}  // namespace l2gcn
