#include "train/validation_probe.h"

#include "core/error_format.h"
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
                                 const SplitNodes& nodes, uint32_t hops)
    : context_(context), pipeline_(pipeline), labels_(dataset.labels), nodes_(nodes.val), hops_(hops) {
  CheckValidationNodes(dataset, nodes);
  rows_ = pipeline.WholeRows(context, nodes_, hops);
  x_ = pipeline.Input(context);
}

void ValidationProbe::BeginLayer(bool last) {
  Backend& backend = pipeline_.backend();
  for (uint32_t hop = 1; hop < hops_; ++hop) {
    x_ = backend.Aggregate(context_, pipeline_.WholeOperator(context_), *x_, {});
  }
  xhat_ = backend.Aggregate(context_, *rows_, *x_, {});
  if (last) x_.reset();
}

ValidationScore ValidationProbe::Score(const Matrix& w, const Matrix& theta) {
  return ScoreNodes(context_, labels_, nodes_, pipeline_.LayerLogits(context_, *xhat_, w, theta));
}

// All hops but the last were made when the layer began.
void ValidationProbe::EndLayer(const Matrix& w) {
  x_ = hops_ > 0 ? pipeline_.ForwardWhole(context_, *x_, w) : pipeline_.Transform(context_, *x_, w);
}

}  // namespace l2gcn
