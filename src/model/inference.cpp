#include "model/inference.h"

#include <algorithm>
#include <cstring>

#include "config/architecture.h"
#include "config/methods.h"
#include "core/error_format.h"
#include "core/usable.h"
#include "model/correct_and_smooth.h"
#include "model/finite.h"
#include "model/model_shapes.h"
#include "model/target_scaling.h"
#include "pipeline/memory_plan.h"

namespace l2gcn {
namespace {

Matrix RowRange(const Matrix& from, size_t first, size_t count) {
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
  return backend.Upload(context, Features::Dense(std::move(matrix)));
}

}  // namespace

std::string StackWeightName(size_t stack, size_t layer) {
  return fmt::format("stack{}.layer{}.weight", stack, layer);
}

// [X | Â X] W as X·W_own + Â(X·W_aggregated): narrower, and sparse features stay sparse.
TensorPtr Inference::OwnAndAggregated(const Context& context, const Tensor& x, const Matrix& w, bool relu) {
  Matrix out = backend().Logits(context, x, RowRange(w, 0, x.cols), {});
  const TensorPtr theirs =
      UploadMatrix(context, backend(), backend().Logits(context, x, RowRange(w, x.cols, x.cols), {}));
  AddTo(backend().Download(context,
                           *backend().Aggregate(context, pipeline_->WholeOperator(context), *theirs, {})),
        out);
  if (relu) {
    for (float& value : out.values.mutable_span()) value = std::max(value, 0.0f);
  }
  return UploadMatrix(context, backend(), std::move(out));
}

TensorPtr Inference::Powers(const Context& context, TensorPtr x, uint32_t power) {
  for (uint32_t i = 0; i < power; ++i)
    x = backend().Aggregate(context, pipeline_->WholeOperator(context), *x, {});
  return x;
}

// The output of layer `layer` for every node, or what it is made of, where the training just before has left it; else null.
TensorPtr Inference::LeftByTraining(const Context& context, const Model& model, size_t layer) {
  const HiddenParameters& hidden = model.layers[layer];
  if (TensorPtr made = pipeline_->KeptWhole(layer, hidden)) return made;
  if (hidden.basic() || !pipeline_->HoldsEveryNode(context)) return nullptr;
  const LayerInput xhat = pipeline_->TakeLastInput(hidden);
  return xhat.empty() ? nullptr : pipeline_->Transform(context, xhat, hidden);
}

TensorPtr Inference::Hidden(const Context& context, const Model& model, size_t layers,
                            const std::function<void(const TensorPtr&)>& see) {
  const Method& method = FindMethod(model.config.method);
  TensorPtr x = layers > 0 && pipeline_->KeptWhole(0, model.layers[0]) ? nullptr : pipeline_->Input(context);
  if (method.prediction_head == PredictionHead::kHops) x = Powers(context, std::move(x), model.config.hops);
  const bool own = method.prediction_head == PredictionHead::kLastLayer && BlocksOfHops(model.config) > 1;
  bool kept = true;  // as long as training has made all layers before
  for (size_t layer = 0; layer < layers; ++layer) {
    context.CheckCancelled();
    const HiddenParameters& hidden = model.layers[layer];
    if (const TensorPtr made = kept ? LeftByTraining(context, model, layer) : nullptr) {
      x = made;
      if (see) see(x);
      continue;
    }
    kept = false;
    x = own && hidden.basic() ? OwnAndAggregated(context, *x, hidden.weight, true)
                              : pipeline_->ForwardWhole(context, static_cast<uint32_t>(layer), x, hidden);
    if (see) see(x);
  }
  return x;
}

// Â X Θ, or [X | Â X] Θ, of every node.
Matrix Inference::LastLayer(const Context& context, const Tensor& x, const Model& model) {
  if (BlocksOfHops(model.config) > 1)
    return backend().Download(context, *OwnAndAggregated(context, x, model.theta, false));
  const TensorPtr z = UploadMatrix(context, backend(), backend().Logits(context, x, model.theta, {}));
  return backend().Download(context,
                            *backend().Aggregate(context, pipeline_->WholeOperator(context), *z, {}));
}

TensorPtr Inference::StackOutput(const Context& context, const Model& model, size_t stack) {
  TensorPtr x = pipeline_->Input(context);
  for (uint32_t layer = 0; layer < model.config.layers; ++layer) {
    context.CheckCancelled();
    const std::string name = StackWeightName(stack, layer);
    const auto found =
        std::find_if(model.extra.begin(), model.extra.end(), [&](const auto& e) { return e.first == name; });
    if (found == model.extra.end()) ThrowInput("the model has no tensor extra.{}: its file is damaged", name);
    x = backend().Transform(context, Powers(context, x, model.config.powers[stack]), found->second);
  }
  return x;
}

Matrix Inference::JoinedLogits(const Context& context, const Model& model, std::span<const uint32_t> rows) {
  Matrix logits;
  size_t first = 0;
  for (size_t stack = 0; stack < model.config.powers.size(); ++stack) {
    const TensorPtr x = StackOutput(context, model, stack);
    const Matrix part = backend().Logits(context, *x, RowRange(model.theta, first, x->cols), rows);
    first += x->cols;
    if (stack == 0)
      logits = part;
    else
      AddTo(part, logits);
  }
  return logits;
}

std::vector<Matrix> Inference::LogitsOfLayers(const Context& context, const Model& model) {
  std::vector<Matrix> logits;
  Hidden(context, model, model.layers.size(), [&](const TensorPtr& x) {
    logits.push_back(pipeline_->HeadLogits(context, x, model.heads[logits.size()], {}));
  });
  for (Matrix& layer : logits) UndoTargetScaling(model.target_scaling, layer);
  return logits;
}

Matrix Inference::Logits(const Context& context, const Model& model, std::span<const uint32_t> rows) {
  if (model.mean_of_layers && !model.heads.empty())
    return PickRows(MeanOfLayers(LogitsOfLayers(context, model), model.task()), rows);
  Matrix logits = LogitsOfLast(context, model, rows);
  UndoTargetScaling(model.target_scaling, logits);
  return logits;
}

Matrix Inference::LogitsOfLast(const Context& context, const Model& model, std::span<const uint32_t> rows) {
  if (!model.heads.empty()) {
    return pipeline_->HeadLogits(context, Hidden(context, model, model.layers.size()), model.heads.back(),
                                 rows);
  }
  const Method& method = FindMethod(model.config.method);
  if (method.prediction_head == PredictionHead::kJoinedPowers) return JoinedLogits(context, model, rows);
  const TensorPtr x = Hidden(context, model, model.layers.size());
  if (method.prediction_head != PredictionHead::kLastLayer)
    return backend().Logits(context, *x, model.theta, rows);
  Matrix logits = PickRows(LastLayer(context, *x, model), rows);
  for (size_t i = 0; model.bias.rows > 0 && i < logits.rows; ++i) {
    float* row = logits.mutable_row(i);
    for (size_t c = 0; c < logits.cols; ++c) row[c] += model.bias.values[c];
  }
  return logits;
}

Matrix Inference::Embedding(const Context& context, const Model& model, size_t layer) {
  if (FindMethod(model.config.method).prediction_head != PredictionHead::kJoinedPowers) {
    return backend().Download(context, *Hidden(context, model, layer));
  }
  ThrowUsage("embed: method {} has several networks side by side; use predict", model.config.method);
}

namespace {

void CheckArguments(const Context& context, const Model& model, const Dataset& dataset) {
  CheckUsable(context, dataset);
  Validate(model.config);
  CheckModelShapes(model, "the model");
  if ((model.theta.rows == 0 && model.heads.empty()) || model.classes == 0)
    ThrowInput("the model has no classifier: it was not trained");
}

// Warns of weights that are there in training or here, but not in both: they change what layers average.
void CheckWeights(const Context& context, const Model& model, const Dataset& dataset) {
  const Graph& graph = dataset.graph;
  const bool read = FindMethod(model.config.method).op != MethodOperator::kNeighbourMean;
  if (!read || !model.weighted || *model.weighted == graph.weighted() || graph.entries() == 0) return;
  context.Warn(
      graph.weighted()
          ? fmt::format("{}: the edges have weights, but the model was trained without; --weight none "
                        "ignores them",
                        PlaceOf(dataset))
          : fmt::format("{}: the edges have no weights, or all are 1, but the model was trained with "
                        "weights: predictions may be wrong; --weight names the column",
                        PlaceOf(dataset)));
}

// The context with a place for what does not fit into its memory.
Context PlacedFor(const Context& context, const Model& model, const Dataset& dataset) {
  const MemoryPlan plan = PlanInference(context, dataset, model);
  if (!plan.in_memory && context.disk == nullptr) context.Note(DescribePlan(plan));
  return Placed(context, dataset, plan);
}

bool HasLabels(const Dataset& dataset) {
  uint32_t node = 0;
  while (node < dataset.nodes() && !dataset.labels.IsLabelled(node)) ++node;
  return node < dataset.nodes();
}

// The train nodes of `known` whose labels the model may propagate.
std::vector<uint32_t> KnownNodes(const Model& model, const Dataset& dataset, const Split* known) {
  if (known == nullptr || known->roles.size() != dataset.nodes() || dataset.labels.classes != model.classes)
    return {};
  return TrainNodes(dataset.labels, *known);
}

}  // namespace

Matrix PredictLogits(const Context& given, const Model& model, const Dataset& given_data,
                     const Split* known) {
  CheckArguments(given, model, given_data);
  const Dataset dataset = AlignRelations(given, model, given_data);
  CheckWeights(given, model, dataset);
  const Context context = PlacedFor(given, model, dataset);
  Inference inference(std::make_shared<LayerPipeline>(context, dataset, model));
  Matrix logits = inference.Logits(context, model, {});
  CheckFiniteRows(context, dataset, logits, "logits");
  if (!model.label_propagation.on()) return logits;
  const std::vector<uint32_t> train = KnownNodes(model, dataset, known);
  if (train.empty()) {
    context.Note(fmt::format(
        "{}: predicted without Correct & Smooth (--correct): it needs train nodes with a "
        "label, and {}",
        PlaceOf(dataset), HasLabels(dataset) ? "no split says which nodes these are" : "no node has one"));
    return logits;
  }
  return CorrectAndSmooth(context, inference.pipeline(), dataset.labels, train, logits,
                          model.label_propagation);
}

Matrix Embed(const Context& given, const Model& model, const Dataset& given_data, uint32_t layer) {
  CheckArguments(given, model, given_data);
  const Dataset dataset = AlignRelations(given, model, given_data);
  CheckWeights(given, model, dataset);
  const Context context = PlacedFor(given, model, dataset);
  const size_t layers = model.layers.size();
  if (layer > layers) ThrowUsage("--layer {}: the model has hidden layers 1 to {}", layer, layers);
  Matrix embedding = Inference(std::make_shared<LayerPipeline>(context, dataset, model))
                         .Embedding(context, model, layer == 0 ? layers : layer);
  CheckFiniteRows(context, dataset, embedding, "embeddings");
  return embedding;
}

}  // namespace l2gcn
