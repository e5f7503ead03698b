#include "model/correct_and_smooth.h"

#include <algorithm>
#include <cmath>

#include "core/disk_memory.h"
#include "core/threads.h"
#include "model/metrics.h"
#include "model/regression_score.h"

namespace l2gcn {
namespace {

constexpr uint32_t kPropagationRounds = 30;
constexpr size_t kRowsAtOnce = 4096;
constexpr float kLeast = 1e-7f;  // probabilities keep this far from 0 and 1
// Label propagation takes rounds × entries × classes additions for each candidate; above this limit auto does without.
constexpr double kMostWork = 4e9;
constexpr double kCorrect = 0.8, kSmoothWeights[] = {0.5, 0.8};

float LogitOf(float p, bool multilabel) {
  const float kept = std::clamp(p, kLeast, 1 - kLeast);
  return multilabel ? std::log(kept / (1 - kept)) : std::log(kept);
}

// A copy that may be written; in scratch where memory is short.
Matrix CopyOf(const Context& context, const Matrix& from) {
  Matrix copy = {LargeArray<float>(context.disk, from.values.size()), from.rows, from.cols};
  std::copy_n(from.values.data(), from.values.size(), copy.values.mutable_data());
  return copy;
}

Matrix ToLogits(Matrix probabilities, bool multilabel) {
  for (float& value : probabilities.values.mutable_span()) value = LogitOf(value, multilabel);
  return probabilities;
}

// Row i of `to` ← the labels of nodes[i].
void PlaceLabels(const Labels& labels, uint32_t node, float* row) {
  std::fill_n(row, labels.classes, 0.0f);
  if (!labels.multilabel) {
    row[labels.classes_of[node]] = 1;
    return;
  }
  for (uint32_t c = 0; c < labels.classes; ++c) row[c] = labels.matrix[size_t{node} * labels.classes + c];
}

// Rounds of G ← (1−a) G₀ + a S G.
Matrix Rounds(const Context& context, Backend& backend, const DeviceGraph& graph, const Matrix& start,
              double weight, uint32_t rounds) {
  const auto a = static_cast<float>(weight), rest = 1 - a;
  Matrix g = start;
  for (uint32_t round = 0; round < rounds; ++round) {
    context.CheckCancelled();
    const TensorPtr x = backend.Upload(context, Features::Dense(g));
    const Matrix propagated = backend.Download(context, *backend.Aggregate(context, graph, *x, {}));
    Matrix next = {LargeArray<float>(context.disk, g.values.size()), g.rows, g.cols};
    float* out = next.values.mutable_data();
    const float *from = propagated.values.data(), *first = start.values.data();
    ParallelFor(context, next.values.size(), size_t{1} << 16, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) out[i] = rest * first[i] + a * from[i];
    });
    g = std::move(next);
  }
  return g;
}

// Probabilities, with the propagated residuals of train nodes added where `propagation` corrects.
Matrix Corrected(const Context& context, Backend& backend, const DeviceGraph& graph, const Labels& labels,
                 std::span<const uint32_t> train, const Matrix& logits,
                 const Model::LabelPropagation& propagation) {
  Matrix probabilities = CopyOf(context, logits);
  LogitsToProbabilities(probabilities, labels.multilabel);
  if (propagation.correct == 0) return probabilities;
  Matrix residual = {LargeArray<float>(context.disk, probabilities.values.size()), probabilities.rows,
                     probabilities.cols};
  std::fill_n(residual.values.mutable_data(), residual.values.size(), 0.0f);
  for (const uint32_t node : train) {
    float* row = residual.mutable_row(node);
    PlaceLabels(labels, node, row);
    for (size_t c = 0; c < probabilities.cols; ++c) row[c] -= probabilities.row(node)[c];
  }
  const Matrix propagated =
      Rounds(context, backend, graph, residual, propagation.correct, propagation.rounds);
  float* out = probabilities.values.mutable_data();
  for (size_t i = 0; i < probabilities.values.size(); ++i)
    out[i] = std::clamp(out[i] + propagated.values[i], 0.0f, 1.0f);
  return probabilities;
}

// Logits of probabilities that have been mixed with their neighbours', train nodes having their labels, where `propagation`
// smooths.
Matrix Smoothed(const Context& context, Backend& backend, const DeviceGraph& graph, const Labels& labels,
                std::span<const uint32_t> train, Matrix probabilities,
                const Model::LabelPropagation& propagation) {
  if (propagation.smooth > 0) {
    for (const uint32_t node : train) PlaceLabels(labels, node, probabilities.mutable_row(node));
    probabilities = Rounds(context, backend, graph, probabilities, propagation.smooth, propagation.rounds);
  }
  return ToLogits(std::move(probabilities), labels.multilabel);
}

Matrix RowsOf(const Matrix& from, std::span<const uint32_t> rows) {
  Matrix out = Matrix::Allocate(rows.size(), from.cols);
  for (size_t i = 0; i < rows.size(); ++i) std::copy_n(from.row(rows[i]), from.cols, out.mutable_row(i));
  return out;
}

}  // namespace

Matrix MeanOfLayers(std::vector<Matrix> logits, Task task) {
  const bool numbers = task == Task::kRegression, multilabel = task == Task::kLabels;
  Matrix mean;
  const float share = 1.0f / static_cast<float>(logits.size());
  for (Matrix& layer : logits) {
    if (!numbers) LogitsToProbabilities(layer, multilabel);
    if (mean.rows == 0) {
      mean = std::move(layer);
      continue;
    }
    float* out = mean.values.mutable_data();
    for (size_t i = 0; i < mean.values.size(); ++i) out[i] += layer.values[i];
  }
  for (float& value : mean.values.mutable_span()) value *= share;
  return numbers ? mean : ToLogits(std::move(mean), multilabel);
}

std::vector<uint32_t> TrainNodes(const Labels& labels, const Split& split) {
  std::vector<uint32_t> nodes;
  for (uint32_t node = 0; node < split.roles.size(); ++node) {
    if (static_cast<Role>(split.roles[node]) == Role::kTrain && labels.IsLabelled(node))
      nodes.push_back(node);
  }
  return nodes;
}

Matrix CorrectAndSmooth(const Context& context, LayerPipeline& pipeline, const Labels& labels,
                        std::span<const uint32_t> train, const Matrix& logits,
                        const Model::LabelPropagation& propagation) {
  const DeviceGraphPtr graph = pipeline.PropagationOperator(context);
  Backend& backend = pipeline.backend();
  return Smoothed(context, backend, *graph, labels, train,
                  Corrected(context, backend, *graph, labels, train, logits, propagation), propagation);
}

Matrix ChoosePrediction(const Context& context, LayerPipeline& pipeline, const Dataset& dataset,
                        const Split& split, std::vector<Matrix> logits_of_layers, Model& model) {
  const TrainConfig& config = model.config;
  const Labels& labels = dataset.labels;
  std::vector<uint32_t> val;
  for (uint32_t node = 0; node < split.roles.size(); ++node) {
    if (static_cast<Role>(split.roles[node]) == Role::kVal) val.push_back(node);
  }
  const auto score = [&](const Matrix& logits) {
    if (val.empty()) return 0.0;
    const Matrix rows = RowsOf(logits, val);
    return labels.task() == Task::kRegression ? MeanR2(labels, val, rows)
                                              : MicroF1(context, labels, val, rows);
  };
  Matrix best = logits_of_layers.back();
  double score_of_best = score(best);
  if (config.predict_from != PredictFrom::kLast && logits_of_layers.size() > 1) {
    logits_of_layers.back() = CopyOf(context, best);
    Matrix mean = MeanOfLayers(std::move(logits_of_layers), labels.task());
    const double score_of_mean = score(mean);
    model.mean_of_layers = config.predict_from == PredictFrom::kMean || score_of_mean > score_of_best;
    if (model.mean_of_layers) best = std::move(mean), score_of_best = score_of_mean;
  }
  if (config.correct == Choice::kOff) return best;
  const std::vector<uint32_t> train = TrainNodes(labels, split);
  const double entries = static_cast<double>(dataset.graph.indices.size() + dataset.nodes());
  const bool affordable = entries * labels.classes * kPropagationRounds <= kMostWork;
  if (config.correct == Choice::kAuto && (!affordable || val.empty())) return best;
  const Matrix base = best;
  bool forced = config.correct == Choice::kOn;
  const DeviceGraphPtr graph = pipeline.PropagationOperator(context);
  Backend& backend = pipeline.backend();
  for (const double correct : {0.0, kCorrect}) {
    const Matrix corrected =
        Corrected(context, backend, *graph, labels, train, base, {correct, 0, kPropagationRounds});
    for (const double smooth : kSmoothWeights) {
      const Model::LabelPropagation tried{correct, smooth, kPropagationRounds};
      Matrix propagated =
          Smoothed(context, backend, *graph, labels, train, CopyOf(context, corrected), tried);
      const double score_of_propagated = score(propagated);
      if (!forced && score_of_propagated <= score_of_best) continue;
      forced = false;
      model.label_propagation = tried;
      best = std::move(propagated), score_of_best = score_of_propagated;
    }
  }
  return best;
}

}  // namespace l2gcn
