// The loss of one row of logits, in double, and the mean over rows: the definitions that scores are computed by.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "l2gcn/choices.h"

namespace l2gcn {

// Cross entropy of the softmax.
inline double SoftmaxRowLoss(const float* logits, size_t classes, size_t truth) {
  const double top = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (size_t c = 0; c < classes; ++c) sum += std::exp(logits[c] - top);
  return std::log(sum) + top - logits[truth];
}

// Mean over the labels of the cross entropy of the sigmoid, max(z, 0) − y·z + log(1 + e^−|z|). The logarithms of some
// labels are that of their product, which is at most 2 to their number.
inline double SigmoidRowLoss(const float* logits, size_t classes, const uint8_t* truth) {
  constexpr size_t kFactors = 512;
  double sum = 0;
  for (size_t first = 0; first < classes; first += kFactors) {
    double product = 1;
    for (size_t c = first; c < std::min(classes, first + kFactors); ++c) {
      const double z = logits[c];
      sum += std::max(z, 0.0) - (truth[c] != 0 ? z : 0.0);
      product *= 1 + std::exp(-std::abs(z));
    }
    sum += std::log(product);
  }
  return sum / static_cast<double>(classes);
}

// The miss of a row, 0 … 1: how far its answer is off. For one class it is 1 − its probability, computed from the loss. Unlike
// the loss it is bounded for a node that is wrong with confidence.
inline float SoftmaxRowMiss(double loss) { return static_cast<float>(-std::expm1(-loss)); }

// The miss of a row with several labels: 1 − F1 of its answers; 0 where no label is on and none is predicted.
inline float SigmoidRowMiss(const float* logits, size_t classes, const uint8_t* truth) {
  uint32_t both = 0, one = 0;
  for (size_t c = 0; c < classes; ++c) {
    both += logits[c] > 0 && truth[c] != 0;
    one += (logits[c] > 0) != (truth[c] != 0);
  }
  return both + one == 0 ? 0.0f : static_cast<float>(one) / static_cast<float>(2 * both + one);
}

// The loss of the difference between a predicted and a true number.
inline double DifferenceLoss(Loss loss, double difference) {
  const double size = std::abs(difference);
  if (loss == Loss::kAbsolute) return size;
  if (loss == Loss::kSquared) return difference * difference;
  return size <= 1 ? difference * difference / 2 : size - 0.5;
}

// Mean over the targets of a row that are not missing; 0 where all are.
inline double RegressionRowLoss(Loss loss, const float* predicted, size_t targets, const float* truth) {
  double sum = 0;
  size_t present = 0;
  for (size_t c = 0; c < targets; ++c) {
    if (std::isnan(truth[c])) continue;
    sum += DifferenceLoss(loss, double{predicted[c]} - double{truth[c]});
    ++present;
  }
  return present == 0 ? 0 : sum / static_cast<double>(present);
}

// The miss of a row of numbers, 0 … 1.
inline float RegressionRowMiss(double loss) { return static_cast<float>(loss / (1 + loss)); }

// By how much each logit of a row is ahead of that of its class. The loss follows from them at any temperature.
inline void RowMargins(const float* logits, size_t classes, size_t truth, float* margins) {
  for (size_t c = 0; c < classes; ++c) margins[c] = logits[c] - logits[truth];
}

// Sums over rows are sums of parts of this many rows, in order: parts may be summed by several threads.
constexpr size_t kRowsOfPart = 16384;

// NaN of no rows.
template <class T>
double MeanOfRows(std::span<const T> losses) {
  double sum = 0;
  for (size_t first = 0; first < losses.size(); first += kRowsOfPart) {
    double part = 0;
    for (const T loss : losses.subspan(first, std::min(kRowsOfPart, losses.size() - first)))
      part += static_cast<double>(loss);
    sum += part;
  }
  return losses.empty() ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(losses.size());
}

}  // namespace l2gcn
