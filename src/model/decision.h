// How logits become classes or labels.
//
//   one label a node   the class of the largest logit, the first of equals; where a two-class model has a
//                      threshold t, class 1 where its probability is above t
//   multi-label        a label is on where its probability is above its threshold, which is one half where
//                      the model has none
//
// Probabilities are compared as logits, z > log(t / (1 − t)), so that a threshold of one half is z > 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace l2gcn {

class DecisionRule {
 public:
  // `thresholds` is empty, or (classes) of a multi-label model, or (1) of a two-class one.
  DecisionRule(bool multilabel, uint32_t classes, std::span<const double> thresholds);

  // The class of a node that has one; logits is (classes).
  uint32_t ClassOf(const float* logits) const;
  // Whether a label of a multi-label model is on.
  bool IsOn(uint32_t label, float logit) const { return cuts_.empty() ? logit > 0 : logit > cuts_[label]; }

 private:
  uint32_t classes_;
  std::vector<double> cuts_;  // thresholds as logits
};

// Turns the logits of one node (classes) into probabilities, in place: softmax, or sigmoid of each.
void RowToProbabilities(float* row, size_t classes, bool multilabel);

}  // namespace l2gcn
