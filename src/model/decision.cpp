#include "model/decision.h"

#include <algorithm>
#include <cmath>

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

}  // namespace l2gcn
