// The score of probabilities as they are given, for callers that have them already; l2gcn/model.h has the
// face for logits.
#pragma once

#include "l2gcn/model.h"

namespace l2gcn {

// Decisions are made on `logits`, everything else follows from `probabilities`; both (nodes × classes).
Score ScorePredictions(const Context& context, const Dataset& dataset, const Matrix& logits,
                       const Matrix& probabilities, const Split& split, Role role,
                       std::span<const double> thresholds);

}  // namespace l2gcn
