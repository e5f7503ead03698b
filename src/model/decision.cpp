#include "model/decision.h"

#include <algorithm>
#include <cmath>

#include "config/architecture.h"
#include "config/methods.h"
#include "core/error_format.h"
#include "l2gcn/model.h"

namespace l2gcn {

DecisionRule::DecisionRule(bool multilabel, uint32_t classes, std::span<const double> thresholds)
    : classes_(classes) {
  L2GCN_ASSERT(thresholds.empty() ||
               (multilabel ? thresholds.size() == classes : classes == 2 && thresholds.size() == 1));
  for (const double t : thresholds) cuts_.push_back(std::log(t) - std::log1p(-t));
}

uint32_t DecisionRule::ClassOf(const float* logits) const {
  if (!cuts_.empty()) return double{logits[1]} - double{logits[0]} > cuts_[0] ? 1 : 0;
  return static_cast<uint32_t>(std::max_element(logits, logits + classes_) - logits);
}

void RowToProbabilities(float* row, size_t classes, bool multilabel) {
  if (multilabel) {
    for (size_t c = 0; c < classes; ++c) row[c] = 1 / (1 + std::exp(-row[c]));
    return;
  }
  const float top = *std::max_element(row, row + classes);
  float sum = 0;
  for (size_t c = 0; c < classes; ++c) sum += row[c] = std::exp(row[c] - top);
  for (size_t c = 0; c < classes; ++c) row[c] /= sum;
}

void LogitsToProbabilities(Matrix& logits, bool multilabel) {
  if (logits.values.size() != logits.rows * logits.cols) {
    ThrowInput("logits of {} × {} with {} values", logits.rows, logits.cols, logits.values.size());
  }
  if (logits.cols == 0) return;
  for (size_t i = 0; i < logits.rows; ++i) RowToProbabilities(logits.mutable_row(i), logits.cols, multilabel);
}

namespace {

DecisionRule RuleFor(const Model& model, const Matrix& logits, bool multilabel) {
  if (model.task() == Task::kRegression)
    ThrowUsage("the model predicts numbers, which need no decision: take what PredictLogits returns");
  if (model.multilabel != multilabel) {
    ThrowUsage("the model has {} a node; ask for {}", model.multilabel ? "several labels" : "one class",
               model.multilabel ? "labels" : "classes");
  }
  if (logits.cols != model.classes || logits.values.size() != logits.rows * logits.cols) {
    ThrowInput("logits of {} × {} with {} values for {} classes", logits.rows, logits.cols,
               logits.values.size(), model.classes);
  }
  return {multilabel, model.classes, model.thresholds};
}

}  // namespace

Array<int32_t> DecideClasses(const Model& model, const Matrix& logits) {
  const DecisionRule rule = RuleFor(model, logits, false);
  Array<int32_t> classes = Array<int32_t>::Allocate(logits.rows);
  int32_t* const out = classes.mutable_data();
  for (size_t i = 0; i < logits.rows; ++i) out[i] = static_cast<int32_t>(rule.ClassOf(logits.row(i)));
  return classes;
}

Array<uint8_t> DecideLabels(const Model& model, const Matrix& logits) {
  const DecisionRule rule = RuleFor(model, logits, true);
  Array<uint8_t> labels = Array<uint8_t>::Allocate(logits.values.size());
  uint8_t* const out = labels.mutable_data();
  for (size_t i = 0; i < logits.values.size(); ++i)
    out[i] = rule.IsOn(static_cast<uint32_t>(i % logits.cols), logits.values[i]) ? 1 : 0;
  return labels;
}

Model::Formula FormulaOf(const Model& model) {
  const Method& method = FindMethod(model.config.method);
  Model::Formula form;
  form.own_beside = method.prediction_head == PredictionHead::kLastLayer && BlocksOfHops(model.config) > 1;
  switch (method.op) {
    case MethodOperator::kNormalised:
      form.aggregation = "normalised";
      break;
    case MethodOperator::kEnhancedDiagonal:
      form.aggregation = "enhanced-diagonal";
      break;
    case MethodOperator::kNeighbourMean:
      form.aggregation = "neighbour-mean";
  }
  switch (method.prediction_head) {
    case PredictionHead::kClassifier:
      form.prediction_head = "classifier";
      break;
    case PredictionHead::kLastLayer:
      form.prediction_head = "last-layer";
      break;
    case PredictionHead::kHops:
      form.prediction_head = "hops";
      break;
    case PredictionHead::kJoinedPowers:
      form.prediction_head = "joined-powers";
  }
  return form;
}

}  // namespace l2gcn
