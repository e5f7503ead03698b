// Applying a model to every node, layer by layer over the whole graph: X ← ReLU(Â X W), then X Θ. A layer's product
// is taken in whichever order is narrower, so memory beyond the features is two activations of the narrower width.
#include "core/error_format.h"
#include "data/prepare.h"
#include "graph/normalise.h"
#include "kernels/backend.h"
#include "l2gcn/model.h"
#include "model/backend_options.h"

namespace l2gcn {
namespace {

void CheckFits(const Model& model, const Dataset& dataset) {
  if (dataset.features.cols() != model.features) {
    ThrowInput("{}: has {} features, but the model was trained on {}; use the data set it was trained for",
               dataset.name, dataset.features.cols(), model.features);
  }
}

// Activations of layer `layers` on the backend.
TensorPtr Activations(const Context& context, Backend& backend, const Model& model, const Dataset& dataset,
                      size_t layers) {
  CheckFits(model, dataset);
  TensorPtr x = backend.Upload(context, ApplyPreparation(context, model.preparation, dataset.features));
  if (model.config.smooth > 0) {
    const auto whole = backend.Upload(context, MakePropagation(context, dataset.graph, Norm::kSym));
    for (uint32_t i = 0; i < model.config.smooth; ++i) x = backend.Forward(context, *whole, *x, {});
  }
  const Propagation propagation = MakePropagation(context, dataset.graph, ParseNorm(model.config.norm));
  const DeviceGraphPtr graph = backend.Upload(context, propagation);
  for (size_t layer = 0; layer < layers; ++layer) {
    context.CheckCancelled();
    x = backend.Forward(context, *graph, *x, model.weights[layer]);
  }
  return x;
}

}  // namespace

Matrix PredictLogits(const Context& context, const Model& model, const Dataset& dataset) {
  auto backend = MakeBackend(context, BackendOptionsOf(model.config));
  const TensorPtr x = Activations(context, *backend, model, dataset, model.weights.size());
  return backend->Logits(context, *x, model.theta, {});
}

Matrix Embed(const Context& context, const Model& model, const Dataset& dataset, uint32_t layer) {
  const size_t layers = model.weights.size();
  if (layer > layers) ThrowUsage("--layer {}: the model has layers 1 to {}", layer, layers);
  auto backend = MakeBackend(context, BackendOptionsOf(model.config));
  return backend->Download(context, *Activations(context, *backend, model, dataset, layer == 0 ? layers : layer));
}

}  // namespace l2gcn
