#include "model/inference.h"

#include <algorithm>
#include <cstring>

#include "core/error_format.h"
#include "core/usable.h"
#include "data/prepare.h"
#include "graph/normalise.h"
#include "model/backend_options.h"
#include "model/model_shapes.h"

namespace l2gcn {
namespace {

void CheckFits(const Model& model, const Dataset& dataset) {
  if (dataset.features.cols() != model.features) {
    ThrowInput("{}: has {} features, but the model was trained on {}; use the data set it was trained for",
               dataset.name, dataset.features.cols(), model.features);
  }
}

Propagation OperatorOf(const Context& context, const TrainConfig& config, const Graph& graph) {
  if (config.method == "graphsage") return MakeNeighbourMean(context, graph);
  Propagation a = MakePropagation(context, graph, ParseNorm(config.norm));
  if (config.method == "clustergcn") EnhanceDiagonal(config.diagonal, a);
  return a;
}

bool JoinsPowers(const std::string& method) { return method == "ngcn" || method == "ngcn-layerwise"; }

// Whether Θ is a layer of its own, behind an aggregation.
bool ThetaAggregates(const std::string& method) {
  return method != "lgcn" && method != "l2gcn" && method != "sgc" && !JoinsPowers(method);
}

Matrix RowsOf(const Matrix& from, size_t first, size_t count) {
  Matrix out = Matrix::Allocate(count, from.cols);
  std::memcpy(out.values.mutable_data(), from.row(first), count * from.cols * sizeof(float));
  return out;
}

Matrix PickRows(const Matrix& from, std::span<const uint32_t> rows) {
  if (rows.empty()) return from;
  Matrix out = Matrix::Allocate(rows.size(), from.cols);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(out.mutable_row(i), from.row(rows[i]), from.cols * sizeof(float));
  }
  return out;
}

void AddTo(const Matrix& from, Matrix& to) {
  float* out = to.values.mutable_data();
  for (size_t i = 0; i < to.values.size(); ++i) out[i] += from.values[i];
}

TensorPtr UploadMatrix(const Context& context, Backend& backend, Matrix matrix) {
  Features features;
  features.dense = std::move(matrix);
  return backend.Upload(context, features);
}

}  // namespace

std::string StackWeightName(size_t stack, size_t layer) {
  return fmt::format("stack{}.layer{}.weight", stack, layer);
}

Inference::Inference(const Context& context, const Model& model, const Dataset& dataset)
    : backend_(MakeBackend(context, BackendOptionsOf(model.config))) {
  CheckFits(model, dataset);
  x_ = backend_->Upload(context, ApplyPreparation(context, model.preparation, dataset.features));
  if (model.config.smooth > 0) {
    const auto whole = backend_->Upload(context, MakePropagation(context, dataset.graph, Norm::kSym));
    for (uint32_t i = 0; i < model.config.smooth; ++i) x_ = backend_->Forward(context, *whole, *x_, {});
  }
  graph_ = backend_->Upload(context, OperatorOf(context, model.config, dataset.graph));
}

// [x | mean] W as x·W_self + mean(x·W_neighbours): narrower, and sparse features stay sparse.
TensorPtr Inference::SageLayer(const Context& context, const Tensor& x, const Matrix& w, bool relu) {
  Matrix out = backend_->Logits(context, x, RowsOf(w, 0, x.cols), {});
  const TensorPtr theirs =
      UploadMatrix(context, *backend_, backend_->Logits(context, x, RowsOf(w, x.cols, x.cols), {}));
  AddTo(backend_->Download(context, *backend_->Aggregate(context, *graph_, *theirs, {})), out);
  if (relu) {
    for (float& value : out.values.mutable_span()) value = std::max(value, 0.0f);
  }
  return UploadMatrix(context, *backend_, std::move(out));
}

TensorPtr Inference::Powers(const Context& context, TensorPtr x, uint32_t power) {
  for (uint32_t i = 0; i < power; ++i) x = backend_->Aggregate(context, *graph_, *x, {});
  return x;
}

TensorPtr Inference::Hidden(const Context& context, const Model& model, size_t layers) {
  TensorPtr x = model.config.method == "sgc" ? Powers(context, x_, model.config.hops) : x_;
  for (size_t layer = 0; layer < layers; ++layer) {
    context.CheckCancelled();
    const Matrix& w = model.weights[layer];
    x = model.config.method == "graphsage" ? SageLayer(context, *x, w, true)
                                           : backend_->Forward(context, *graph_, *x, w);
  }
  return x;
}

TensorPtr Inference::StackOutput(const Context& context, const Model& model, size_t stack) {
  TensorPtr x = x_;
  for (uint32_t layer = 0; layer < model.config.layers; ++layer) {
    context.CheckCancelled();
    const std::string name = StackWeightName(stack, layer);
    const auto found =
        std::find_if(model.extra.begin(), model.extra.end(), [&](const auto& e) { return e.first == name; });
    if (found == model.extra.end()) ThrowInput("the model has no tensor extra.{}: its file is damaged", name);
    x = backend_->Transform(context, *Powers(context, x, model.config.powers[stack]), found->second);
  }
  return x;
}

Matrix Inference::JoinedLogits(const Context& context, const Model& model, std::span<const uint32_t> rows) {
  Matrix logits;
  size_t first = 0;
  for (size_t stack = 0; stack < model.config.powers.size(); ++stack) {
    const TensorPtr x = StackOutput(context, model, stack);
    const Matrix part = backend_->Logits(context, *x, RowsOf(model.theta, first, x->cols), rows);
    first += x->cols;
    if (stack == 0)
      logits = part;
    else
      AddTo(part, logits);
  }
  return logits;
}

Matrix Inference::Logits(const Context& context, const Model& model, std::span<const uint32_t> rows) {
  const std::string& method = model.config.method;
  if (JoinsPowers(method)) return JoinedLogits(context, model, rows);
  const TensorPtr x = Hidden(context, model, model.weights.size());
  if (!ThetaAggregates(method)) return backend_->Logits(context, *x, model.theta, rows);
  if (method == "graphsage") {
    return PickRows(backend_->Download(context, *SageLayer(context, *x, model.theta, false)), rows);
  }
  const TensorPtr z = UploadMatrix(context, *backend_, backend_->Logits(context, *x, model.theta, {}));
  return PickRows(backend_->Download(context, *backend_->Aggregate(context, *graph_, *z, {})), rows);
}

Matrix Inference::Embedding(const Context& context, const Model& model, size_t layer) {
  if (!JoinsPowers(model.config.method)) return backend_->Download(context, *Hidden(context, model, layer));
  ThrowUsage("embed: method {} has several networks side by side; use predict", model.config.method);
}

namespace {

void CheckArguments(const Context& context, const Model& model, const Dataset& dataset) {
  CheckUsable(context, dataset);
  Validate(model.config);
  CheckModelShapes(model, "the model");
  if (model.theta.rows == 0 || model.classes == 0)
    ThrowInput("the model has no classifier: it was not trained");
}

}  // namespace

Matrix PredictLogits(const Context& context, const Model& model, const Dataset& dataset) {
  CheckArguments(context, model, dataset);
  return Inference(context, model, dataset).Logits(context, model, {});
}

Matrix Embed(const Context& context, const Model& model, const Dataset& dataset, uint32_t layer) {
  CheckArguments(context, model, dataset);
  const size_t layers = model.weights.size();
  if (layer > layers) ThrowUsage("--layer {}: the model has hidden layers 1 to {}", layer, layers);
  return Inference(context, model, dataset).Embedding(context, model, layer == 0 ? layers : layer);
}

}  // namespace l2gcn
