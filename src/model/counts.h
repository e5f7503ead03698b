// True positives, predictions and members of each class, from which F1, precision and recall follow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "l2gcn/dataset.h"
#include "model/decision.h"

namespace l2gcn {

struct Counts {
  uint64_t true_positive = 0, false_positive = 0, false_negative = 0;

  uint64_t members() const { return true_positive + false_negative; }
  uint64_t predicted() const { return true_positive + false_positive; }
  bool occurs() const { return true_positive + false_positive + false_negative > 0; }
  double Precision() const { return Ratio(true_positive, predicted()); }
  double Recall() const { return Ratio(true_positive, members()); }
  double F1() const { return Ratio(2 * true_positive, 2 * true_positive + false_positive + false_negative); }
  // 0 where there is nothing to divide by, as scikit-learn has it.
  static double Ratio(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

inline Counts Sum(std::span<const Counts> counts) {
  Counts sum;
  for (const Counts& c : counts) {
    sum.true_positive += c.true_positive;
    sum.false_positive += c.false_positive;
    sum.false_negative += c.false_negative;
  }
  return sum;
}

// Adds what `rule` makes of the logits (classes) of a labelled node to counts (classes).
inline void CountRow(const Labels& labels, uint32_t node, const DecisionRule& rule, const float* logits,
                     std::vector<Counts>& counts) {
  if (labels.multilabel) {
    const uint8_t* truth = labels.matrix.data() + size_t{node} * labels.classes;
    for (uint32_t c = 0; c < labels.classes; ++c) {
      const bool predicted = rule.IsOn(c, logits[c]), actual = truth[c] != 0;
      counts[c].true_positive += predicted && actual;
      counts[c].false_positive += predicted && !actual;
      counts[c].false_negative += !predicted && actual;
    }
    return;
  }
  const uint32_t predicted = rule.ClassOf(logits);
  const auto actual = static_cast<uint32_t>(labels.classes_of[node]);
  if (predicted == actual) {
    ++counts[actual].true_positive;
  } else {
    ++counts[predicted].false_positive;
    ++counts[actual].false_negative;
  }
}

}  // namespace l2gcn
