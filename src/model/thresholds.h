// Thresholds on probabilities, chosen on nodes that were not trained on.
//
//   multi-label   Each label has a cut of its own with the best F1 of that label, and all labels have one
//                 cut in common with the best micro F1. A label's threshold lies between the two, as
//                 logits, with the weights m and 25, where m counts its members among these nodes.
//   two classes   The threshold has the best macro F1 among those whose accuracy is a standard error above
//                 always answering the larger class of these nodes. Where there is none, its accuracy is not
//                 below that answer's; where there is none either, it has the best macro F1 of all.
//
// Generated sets decided about both rules (bench/thresholds.py, notes/controller.md).
// Candidates lie halfway between neighbouring logits. Of equally good ones the nearest to one half is
// taken.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "l2gcn/array.h"
#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// Row n of logits (all nodes × classes) belongs to node n. Thresholds are chosen on the labelled ones among
// `nodes`. Returns (classes) thresholds for a multi-label set and one for a two-class set.
std::vector<double> ChooseThresholds(const Context& context, const Labels& labels,
                                     std::span<const uint32_t> nodes, const Matrix& logits);

}  // namespace l2gcn
