#include "train/validation_probe.h"

#include <algorithm>
#include <iterator>
#include <utility>

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
                                 const SplitNodes& nodes, uint32_t hops, size_t panel_bytes)
    : context_(context),
      pipeline_(pipeline),
      hops_(hops),
      panel_bytes_(panel_bytes > 0 ? panel_bytes : pipeline.backend().PanelBytes()),
      reach_(static_cast<uint32_t>(pipeline.InputCopies()) - 1),
      shares_(!pipeline.inductive()) {
  CheckValidationNodes(dataset, nodes);
  std::copy_if(nodes.val.begin(), nodes.val.end(), std::back_inserter(nodes_),
               [&](uint32_t node) { return dataset.labels.IsLabelled(node); });
  targets_ = TargetsOf(dataset.labels, nodes_);
  if (shares_) return;
  rows_ = pipeline.WholeRows(context, nodes_, hops);
  x_ = pipeline.Input(context);
}

void ValidationProbe::BeginLayer(bool last) {
  if (shares_) return;
  const std::optional<DenseBlock> ended = std::exchange(ended_, std::nullopt);
  Backend& backend = pipeline_.backend();
  const bool by_panels = ended && last && reach_ == 0 && hops_ == 1 && ended->affine.rows == 0;
  if (by_panels) {
    scored_ = backend.PrepareScoring(context_, RowsOfNext(ended->w), {}, targets_);
    x_.reset();
    return;
  }
  if (ended) x_ = PassLayer(*ended);
  if (reach_ == 0) {
    for (uint32_t hop = 1; hop < hops_; ++hop) {
      x_ = backend.Aggregate(context_, pipeline_.WholeOperator(context_), *x_, {});
    }
    scored_ = backend.PrepareScoring(context_, backend.Aggregate(context_, *rows_, *x_, {}), {}, targets_);
    if (last) x_.reset();
    return;
  }
  powers_ = {std::move(x_)};
  std::vector<TensorPtr> parts = {backend.PickRows(context_, *powers_.back(), nodes_)};
  for (uint32_t power = 1; power < reach_; ++power) {
    powers_.push_back(backend.Aggregate(context_, pipeline_.WholeOperator(context_), *powers_.back(), {}));
    parts.push_back(backend.PickRows(context_, *powers_.back(), nodes_));
  }
  parts.push_back(backend.Aggregate(context_, *rows_, *powers_.back(), {}));
  scored_ = backend.PrepareScoring(context_, backend.Join(context_, parts), {}, targets_);
  if (last) powers_.clear();
}

TensorPtr ValidationProbe::RowsOfNext(const Matrix& w) {
  Backend& backend = pipeline_.backend();
  const size_t fitting = panel_bytes_ / (sizeof(float) * x_->rows) / 8 * 8;
  const size_t columns = std::clamp<size_t>(fitting, 8, std::max<size_t>(8, w.cols));
  std::vector<TensorPtr> parts;
  for (size_t first = 0; first < w.cols; first += columns) {
    const size_t some = std::min(columns, w.cols - first);
    Matrix panel = Matrix::Allocate(w.rows, some);
    for (size_t i = 0; i < w.rows; ++i) std::copy_n(w.row(i) + first, some, panel.mutable_row(i));
    const TensorPtr all = backend.Forward(context_, pipeline_.WholeOperator(context_), *x_, panel);
    parts.push_back(backend.Aggregate(context_, *rows_, *all, {}));
  }
  return parts.size() == 1 ? parts.front() : backend.Beside(context_, parts);
}

void ValidationProbe::ShareInput(const TensorPtr& xhat) {
  if (!shares_) return;
  scored_ = pipeline_.backend().PrepareScoring(context_, xhat, Array<uint32_t>::CopyOf(nodes_), targets_);
}

const ValidationLook& ValidationProbe::Look(const LayerTraining& training) {
  look_ = {};
  if (nodes_.empty()) return look_;
  RowScores scores = pipeline_.backend().Score(context_, training, *scored_);
  look_.score.loss = scores.loss_sum / static_cast<double>(nodes_.size());
  look_.score.f1 = Counts{scores.true_positive, scores.false_positive, scores.false_negative}.F1();
  look_.losses = std::move(scores.losses);
  return look_;
}

void ValidationProbe::EndLayer(const DenseBlock& block) {
  scored_.reset();
  if (!shares_) ended_ = block;
}

// All hops but the last were made when the layer began.
TensorPtr ValidationProbe::PassLayer(const DenseBlock& block) {
  if (reach_ == 0)
    return hops_ > 0 ? pipeline_.ForwardWhole(context_, x_, block)
                     : pipeline_.Transform(context_, *x_, block);
  Backend& backend = pipeline_.backend();
  powers_.push_back(backend.Aggregate(context_, pipeline_.WholeOperator(context_), *powers_.back(), {}));
  const TensorPtr joined = backend.Join(context_, powers_);
  powers_.clear();
  return backend.Transform(context_, *joined, block);
}

}  // namespace l2gcn
