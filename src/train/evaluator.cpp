#include "train/evaluator.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "core/clock.h"
#include "core/error_format.h"
#include "model/counts.h"
#include "model/metrics.h"
#include "train/temperature_scaling.h"

namespace l2gcn {
namespace {

constexpr size_t kMostBytesLeft = size_t{32} << 20;  // of outputs: next to nothing beside a training's own

}  // namespace

Observation::Validation ScoreNodes(const Context& context, const Labels& labels,
                                   std::span<const uint32_t> nodes, const Matrix& logits) {
  return {MicroF1(context, labels, nodes, logits), MeanLoss(context, labels, nodes, logits)};
}

void CheckValidationNodes(const Dataset& dataset, const SplitNodes& nodes) {
  if (!nodes.val.empty()) return;
  ThrowUsage(
      "split '{}' of {} has no validation node to score; use --watch loss, leave --val-every out, or take "
      "another --split",
      nodes.split.name, dataset.name);
}

double F1Of(const RowScores& scores) {
  const Counts counts{scores.true_positive, scores.false_positive, scores.false_negative};
  const bool any = counts.true_positive + counts.false_positive + counts.false_negative > 0;
  return any ? counts.F1() : std::numeric_limits<double>::quiet_NaN();
}

Evaluator::Evaluator(const Context& context, LayerPipeline& pipeline, const Dataset& dataset,
                     const SplitNodes& nodes, const TrainConfig& config, uint32_t hops,
                     bool scores_validation, bool scores_nodes)
    : context_(context),
      pipeline_(pipeline),
      labels_(dataset.labels),
      loss_(config.loss),
      train_(nodes.train),
      hops_(hops),
      self_features_(config.self_features),
      hops_in_layer_(config.hops),
      shares_(!pipeline.inductive()) {
  if (scores_nodes) chosen_ = ChooseEvaluationNodes(config, dataset, nodes);
  if (scores_validation) CheckValidationNodes(dataset, nodes);
  if (!scores_validation && chosen_.validation.empty()) return;
  std::copy_if(nodes.val.begin(), nodes.val.end(), std::back_inserter(nodes_),
               [&](uint32_t node) { return labels_.IsLabelled(node); });
  if (!scores_validation) {  // no more of them are prepared than the rule sees
    std::vector<uint32_t> seen;
    for (const uint32_t place : chosen_.validation) seen.push_back(nodes_[place]);
    nodes_ = std::move(seen);
    std::iota(chosen_.validation.begin(), chosen_.validation.end(), 0u);
  }
  if (!ReachesOut()) return;
  rows_ = pipeline.WholeRows(context, nodes_, hops);
  x_ = pipeline.Input(context);
}

void Evaluator::BeginLayer(uint32_t layer, bool last) {
  layer_ = layer;
  last_ = last;
  hops_seconds_ = 0;
  validation_rows_.reset();
  evaluation_rows_.reset();
  if (!ReachesOut()) return;
  Backend& backend = pipeline_.backend();
  if (!self_features_) {
    for (uint32_t hop = 1; hop < hops_; ++hop)
      x_ = backend.Aggregate(context_, pipeline_.WholeOperator(context_), *x_, {});
    validation_xhat_ = backend.Aggregate(context_, *rows_.front(), *x_, {});
    if (last) x_.reset();
    return;
  }
  whole_xhat_ = std::move(x_);
  const Stopwatch watch;
  pipeline_.AddHops(context_, pipeline_.WholeOperators(context_), hops_in_layer_ - 1, whole_xhat_);
  hops_seconds_ = watch.Seconds();
  LayerInput picked;
  for (const TensorPtr& block : whole_xhat_.blocks)
    picked.blocks.push_back(backend.PickRows(context_, *block, nodes_));
  for (size_t which = 0; which < rows_.size(); ++which) {
    const Tensor& x = LayerPipeline::LastHop(whole_xhat_, rows_.size(), which);
    picked.blocks.push_back(backend.Aggregate(context_, *rows_[which], x, {}));
  }
  pipeline_.AddRawFeatures(context_, layer, nodes_, picked);
  validation_xhat_ = backend.MergeSparse(std::move(picked));
  if (last) whole_xhat_ = {};
}

void Evaluator::SetInput(const LayerInput& xhat) {
  if (shares_ || HoldsOut()) xhat_ = xhat;
}

// Rows of the matrix that holds validation nodes, for places among nodes_.
Array<uint32_t> Evaluator::RowsOf(std::span<const uint32_t> places) const {
  if (!shares_) return Array<uint32_t>::CopyOf(places);
  std::vector<uint32_t> nodes;
  for (const uint32_t place : places) nodes.push_back(nodes_[place]);
  return Array<uint32_t>::CopyOf(pipeline_.RowsIn(layer_, nodes));
}

Observation::Validation Evaluator::ScoreValidation(const LayerTraining& training) {
  if (nodes_.empty()) return {};
  Backend& backend = pipeline_.backend();
  if (validation_rows_ == nullptr) {
    Array<uint32_t> rows =
        shares_ ? Array<uint32_t>::CopyOf(pipeline_.RowsIn(layer_, nodes_)) : Array<uint32_t>();
    validation_rows_ = backend.PrepareScoring(context_, shares_ ? xhat_ : validation_xhat_, std::move(rows),
                                              TargetsOf(labels_, nodes_, loss_));
  }
  const RowScores scores = backend.Score(context_, training, *validation_rows_);
  return {F1Of(scores), scores.loss};
}

std::shared_ptr<const RowsToScore> Evaluator::PrepareEvaluationNodes() {
  const bool margins = last_ && labels_.task() == Task::kClass;
  std::vector<uint32_t> nodes;
  if (!HoldsOut()) {
    for (const uint32_t place : chosen_.validation) nodes.push_back(nodes_[place]);
    return pipeline_.backend().PrepareScoring(context_, shares_ ? xhat_ : validation_xhat_,
                                              RowsOf(chosen_.validation), TargetsOf(labels_, nodes, loss_),
                                              margins);
  }
  const Array<uint32_t> rows = pipeline_.SampleRows(layer_, hops_);
  std::vector<uint32_t> at;
  for (const uint32_t place : chosen_.held) {
    nodes.push_back(train_[place]);
    at.push_back(rows.empty() ? place : rows[place]);
  }
  return pipeline_.backend().PrepareScoring(context_, xhat_, Array<uint32_t>::CopyOf(at),
                                            TargetsOf(labels_, nodes, loss_), margins);
}

RowScores Evaluator::ScoreEvaluationNodes(const LayerTraining& training) {
  if (evaluation_rows_ == nullptr) evaluation_rows_ = PrepareEvaluationNodes();
  RowScores scores = pipeline_.backend().Score(context_, training, *evaluation_rows_);
  if (last_ && labels_.task() == Task::kClass)
    scores.losses = ScaleTemperature(context_, scores.margins).losses;
  return scores;
}

// All hops but the last were computed when the layer began.
double Evaluator::EndLayer(const HiddenParameters& hidden) {
  validation_rows_.reset();
  evaluation_rows_.reset();
  validation_xhat_ = {};
  xhat_ = {};
  if (!ReachesOut()) return 0;
  const Stopwatch watch;
  if (!self_features_) {
    x_ = hops_ > 0 ? pipeline_.ForwardWhole(context_, layer_, x_, hidden)
                   : pipeline_.Transform(context_, x_, hidden);
  } else {
    pipeline_.AddHops(context_, pipeline_.WholeOperators(context_), hops_in_layer_, whole_xhat_);
    pipeline_.AddRawFeatures(context_, layer_, {}, whole_xhat_);
    x_ = pipeline_.Transform(context_, std::exchange(whole_xhat_, {}), hidden);
  }
  const bool here = context_.disk == nullptr && context_.ranks == nullptr;  // not on disk, and whole
  leaves_ = leaves_ && hops_ == 1 && here && pipeline_.KeepWhole(hidden, x_, kMostBytesLeft);
  return leaves_ ? hops_seconds_ + watch.Seconds() : 0;
}

}  // namespace l2gcn
