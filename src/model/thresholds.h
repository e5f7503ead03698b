// Thresholds on probabilities, chosen on nodes that were not trained on.
//
//   multi-label   for each label the threshold with the best F1 of that label, if that is no accident: the
//                 nodes are cut into five parts, each judged by a threshold chosen on the other four, and a
//                 label whose F1 is then no better than switched on everywhere is switched on everywhere. A
//                 label with few members among these nodes takes the one threshold with the best micro F1 over
//                 all labels.
//   two classes   the threshold with the best macro F1 among those whose accuracy is a standard error above
//                 always answering the larger class of these nodes; without such a threshold, not below it;
//                 without that either, the best macro F1
//
// Candidates lie halfway between neighbouring logits. Of equally good ones the nearest to one half is taken.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "l2gcn/array.h"
#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// Row n of logits (all nodes × classes) belongs to node n; `nodes` are those to choose on, labelled ones
// alone. (classes) of a multi-label set, (1) of a two-class one.
std::vector<double> ChooseThresholds(const Context& context, const Labels& labels,
                                     std::span<const uint32_t> nodes, const Matrix& logits);

}  // namespace l2gcn
