#include "train/validation_probe.h"

#include <algorithm>
#include <iterator>

#include "core/clock.h"
#include "core/error_format.h"
#include "model/counts.h"
#include "model/metrics.h"

namespace l2gcn {

ValidationScore ScoreNodes(const Context& context, const Labels& labels, std::span<const uint32_t> nodes,
                           const Matrix& logits) {
  return {MicroF1(context, labels, nodes, logits), MeanLoss(context, labels, nodes, logits)};
}

void CheckValidationNodes(const Dataset& dataset, const SplitNodes& nodes) {
  if (!nodes.val.empty()) return;
  ThrowUsage(
      "split '{}' of {} has no validation node to score; use --watch loss, leave --val-every out, or take "
      "another --split",
      nodes.split.name, dataset.name);
}

ValidationProbe::ValidationProbe(const Context& context, LayerPipeline& pipeline, const Dataset& dataset,
                                 std::span<const uint32_t> nodes, uint32_t hops)
    : context_(context),
      pipeline_(pipeline),
      labels_(dataset.labels),
      hops_(hops),
      reach_(static_cast<uint32_t>(pipeline.InputCopies()) - 1),
      shares_(!pipeline.inductive()) {
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(nodes_),
               [&](uint32_t node) { return dataset.labels.IsLabelled(node); });
  targets_ = TargetsOf(dataset.labels, nodes_);
  if (shares_) return;
  rows_ = pipeline.WholeRows(context, nodes_, hops);
  x_ = pipeline.Input(context);
}

void ValidationProbe::BeginLayer(bool last) {
  powers_seconds_ = 0;
  if (shares_) return;
  Backend& backend = pipeline_.backend();
  if (reach_ == 0) {
    for (uint32_t hop = 1; hop < hops_; ++hop) {
      x_ = backend.Aggregate(context_, pipeline_.WholeOperator(context_), *x_, {});
    }
    xhat_ = backend.Aggregate(context_, *rows_, *x_, {});
    if (last) x_.reset();
    return;
  }
  powers_ = {std::move(x_)};
  const Stopwatch of_all;
  for (uint32_t power = 1; power < reach_; ++power)
    powers_.push_back(backend.Aggregate(context_, pipeline_.WholeOperator(context_), *powers_.back(), {}));
  powers_seconds_ = of_all.Seconds();
  std::vector<TensorPtr> parts;
  for (const TensorPtr& power : powers_) parts.push_back(backend.PickRows(context_, *power, nodes_));
  parts.push_back(backend.Aggregate(context_, *rows_, *powers_.back(), {}));
  const TensorPtr labels = last ? pipeline_.WholeLabelInputs(context_, nodes_) : nullptr;
  if (labels != nullptr) parts.push_back(labels);
  xhat_ = backend.Join(context_, parts);
  if (last) powers_.clear();
}

void ValidationProbe::ShareInput(uint32_t layer, const TensorPtr& xhat) {
  if (!shares_) return;
  xhat_ = xhat;
  layer_ = layer;
}

ValidationScore ValidationProbe::Look(const LayerTraining& training) {
  if (nodes_.empty()) return {};
  Backend& backend = pipeline_.backend();
  if (scored_ == nullptr) {
    Array<uint32_t> rows =
        shares_ ? Array<uint32_t>::CopyOf(pipeline_.RowsIn(layer_, nodes_)) : Array<uint32_t>();
    scored_ = backend.PrepareScoring(context_, xhat_, std::move(rows), targets_);
  }
  const RowScores scores = backend.Score(context_, training, *scored_);
  return {Counts{scores.true_positive, scores.false_positive, scores.false_negative}.F1(), scores.loss};
}

RowScores ValidationProbe::Look(const LayerTraining& training, std::span<const uint32_t> places,
                                bool margins) {
  Backend& backend = pipeline_.backend();
  if (looked_ == nullptr) {
    std::vector<uint32_t> nodes;
    for (const uint32_t place : places) nodes.push_back(nodes_[place]);
    Array<uint32_t> rows =
        shares_ ? Array<uint32_t>::CopyOf(pipeline_.RowsIn(layer_, nodes)) : Array<uint32_t>::CopyOf(places);
    looked_ = backend.PrepareScoring(context_, xhat_, std::move(rows), TargetsOf(labels_, nodes), margins);
  }
  return backend.Score(context_, training, *looked_);
}

// All hops but the last were made when the layer began.
double ValidationProbe::EndLayer(const DenseBlock& block) {
  scored_.reset();
  looked_.reset();
  xhat_.reset();
  if (shares_) return 0;
  const Stopwatch watch;
  if (reach_ == 0) {
    x_ = hops_ > 0 ? pipeline_.ForwardWhole(context_, x_, block) : pipeline_.Transform(context_, *x_, block);
  } else {
    Backend& backend = pipeline_.backend();
    powers_.push_back(backend.Aggregate(context_, pipeline_.WholeOperator(context_), *powers_.back(), {}));
    const TensorPtr joined = backend.Join(context_, powers_);
    powers_.clear();
    x_ = backend.Transform(context_, *joined, block);
  }
  const bool here = context_.disk == nullptr && context_.ranks == nullptr;  // not on disk, and whole
  leaves_ = leaves_ && hops_ == 1 && here && pipeline_.KeepWhole(block, x_);
  return leaves_ ? powers_seconds_ + watch.Seconds() : 0;
}

}  // namespace l2gcn
