#include "train/validation_probe.h"

#include "core/error_format.h"
#include "model/metrics.h"
#include "train/layerwise_trainer.h"

namespace l2gcn {

ValidationScore ScoreNodes(const Context& context, const Labels& labels, std::span<const uint32_t> nodes,
                           const Matrix& logits) {
  return {MicroF1(context, labels, nodes, logits), MeanLoss(context, labels, nodes, logits)};
}

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
  const Propagation whole = MakePropagation(context_, dataset_.graph, hops > 0 ? norm : Norm::kNone);
  graph_ = backend_.Upload(context_, whole);
  rows_ = backend_.Upload(context_, RowsOf(context_, whole, nodes_));
}

void ValidationProbe::BeginLayer(bool last) {
  for (uint32_t hop = 1; hop < hops_; ++hop) x_ = backend_.Aggregate(context_, *graph_, *x_, {});
  xhat_ = backend_.Aggregate(context_, *rows_, *x_, {});
  if (last) x_.reset();
}

ValidationScore ValidationProbe::Score(const Matrix& w, const Matrix& theta) {
  const Matrix logits = backend_.Logits(context_, *backend_.Transform(context_, *xhat_, w), theta, {});
  return ScoreNodes(context_, dataset_.labels, nodes_, logits);
}

// All hops but the last were made when the layer began.
void ValidationProbe::EndLayer(const Matrix& w) {
  x_ = hops_ > 0 ? backend_.Forward(context_, *graph_, *x_, w) : backend_.Transform(context_, *x_, w);
}

}  // namespace l2gcn
