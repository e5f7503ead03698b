// Scores given probabilities. l2gcn/model.h has the public function for logits.
#pragma once

#include "l2gcn/model.h"

namespace l2gcn {

// The labelled nodes of a part, ascending; of Role::kNone: all.
std::vector<uint32_t> LabelledNodes(const Dataset& dataset, const Split& split, Role role);

// What the same answer for every node of a part scores (Score::baseline). Labels alone are read.
struct BaselineScore {
  std::string name;
  double micro_f1;  // NaN where the part is empty
};
BaselineScore ScoreBaseline(const Dataset& dataset, const Split& split, Role role);

// Decisions are made on `logits`, everything else follows from `probabilities`; both (nodes × classes).
Score ScorePredictions(const Context& context, const Dataset& dataset, const Matrix& logits,
                       const Matrix& probabilities, const Split& split, Role role,
                       std::span<const double> thresholds);

}  // namespace l2gcn
