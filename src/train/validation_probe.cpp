#include "train/validation_probe.h"

#include <cstring>

#include "core/error_format.h"
#include "model/metrics.h"
#include "train/layerwise_trainer.h"

namespace l2gcn {

ValidationProbe::ValidationProbe(const Context& context, Backend& backend, const Dataset& dataset, const Split& split,
                                 Norm norm, TensorPtr x)
    : context_(context), backend_(backend), dataset_(dataset), nodes_(NodesWithRole(split, Role::kVal)), x_(std::move(x)) {
  if (nodes_.empty()) {
    ThrowUsage("split '{}' of {} has no validation node to watch; use --watch loss or another --split", split.name,
               dataset.name);
  }
  graph_ = backend_.Upload(context_, MakePropagation(context_, dataset_.graph, norm));
}

void ValidationProbe::BeginLayer() {
  const Matrix all = backend_.Download(context_, *backend_.Aggregate(context_, *graph_, *x_, {}));
  Features rows;
  rows.dense = Matrix::Allocate(nodes_.size(), all.cols);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    std::memcpy(rows.dense.mutable_row(i), all.row(nodes_[i]), all.cols * sizeof(float));
  }
  xhat_ = backend_.Upload(context_, rows);
}

double ValidationProbe::F1(const Matrix& w, const Matrix& theta) {
  const Matrix logits = backend_.Logits(context_, *backend_.Transform(context_, *xhat_, w), theta, {});
  return MicroF1(dataset_.labels, nodes_, logits);
}

void ValidationProbe::EndLayer(const Matrix& w) { x_ = backend_.Forward(context_, *graph_, *x_, w); }

}  // namespace l2gcn
