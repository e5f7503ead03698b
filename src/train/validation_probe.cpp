#include "train/validation_probe.h"

#include <cstring>

#include "core/error_format.h"
#include "model/metrics.h"
#include "train/layerwise_trainer.h"

namespace l2gcn {

ValidationProbe::ValidationProbe(const Context& context, Backend& backend, const Dataset& dataset,
                                 const Split& split, Norm norm, uint32_t hops, TensorPtr x)
    : context_(context),
      backend_(backend),
      dataset_(dataset),
      nodes_(NodesWithRole(split, Role::kVal)),
      hops_(hops),
      x_(std::move(x)) {
  if (nodes_.empty()) {
    ThrowUsage(
        "split '{}' of {} has no validation node to watch; use --watch loss, leave --val-every out, or take "
        "another --split",
        split.name, dataset.name);
  }
  graph_ = backend_.Upload(context_, MakePropagation(context_, dataset_.graph, norm));
}

void ValidationProbe::BeginLayer() {
  for (uint32_t hop = 1; hop < hops_; ++hop) x_ = backend_.Aggregate(context_, *graph_, *x_, {});
  const TensorPtr aggregated = hops_ > 0 ? backend_.Aggregate(context_, *graph_, *x_, {}) : x_;
  const Matrix all = backend_.Download(context_, *aggregated);
  Features rows;
  rows.dense = Matrix::Allocate(nodes_.size(), all.cols);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    std::memcpy(rows.dense.mutable_row(i), all.row(nodes_[i]), all.cols * sizeof(float));
  }
  xhat_ = backend_.Upload(context_, rows);
}

ValidationScore ValidationProbe::Score(const Matrix& w, const Matrix& theta) {
  const Matrix logits = backend_.Logits(context_, *backend_.Transform(context_, *xhat_, w), theta, {});
  return {MicroF1(dataset_.labels, nodes_, logits), MeanLoss(dataset_.labels, nodes_, logits)};
}

// All hops but the last were made when the layer began.
void ValidationProbe::EndLayer(const Matrix& w) {
  x_ = hops_ > 0 ? backend_.Forward(context_, *graph_, *x_, w) : backend_.Transform(context_, *x_, w);
}

}  // namespace l2gcn
