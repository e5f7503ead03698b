// Ranking metrics of a class against the rest: area under the ROC curve and average
// precision, as scikit-learn defines them. Equal scores are one step of the curve.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace l2gcn {

// Gathers the scores of one class, node by node. Scores are probabilities, so finite and not negative.
class Ranking {
 public:
  explicit Ranking(size_t expected) { keys_.reserve(expected); }

  void Add(float score, bool member);
  // Must be called after the last Add and before the figures; sorts once for both.
  void Sort();

  // Share of (member, other) pairs in which the member has the higher score; a tie counts one half. NaN
  // where there are no members or no others.
  double RocAuc() const;
  // Σ (R_n − R_{n−1}) P_n over the distinct scores from the highest; NaN where there are no members.
  double AveragePrecision() const;

 private:
  // A key is the score's bits, which order like the score itself, and a lowest bit that is 1 for a member.
  std::vector<uint64_t> keys_;
  uint64_t members_ = 0;
};

}  // namespace l2gcn
