#include "train/temperature_scaling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "core/threads.h"

namespace l2gcn {
namespace {

constexpr double kLeastBeta = 0.01;
constexpr double kNear = 0.01;  // share of β by which a step of Newton's method is not worth another pass
constexpr int kMostPasses = 20;

// e^x of 0 ≥ x ≥ kFarBehind, to some 2e-7 of it; what is below 2^−126 becomes about that. Plain arithmetic, so that a
// compiler takes several numbers at once: exponentials are nearly all that a pass costs.
constexpr float kFarBehind = -1e6f;
inline float ExpOfNegative(float x) {
  constexpr float kRound = 0x1.8p23f;  // what is added to it loses its fraction
  const float binary = x * 1.44269504f, rounded = binary + kRound;
  const float part = (binary - (rounded - kRound)) * 0.693147181f;  // −0.35 … 0.35
  float power = 1.0f / 720;
  power = power * part + 1.0f / 120;
  power = power * part + 1.0f / 24;
  power = power * part + 1.0f / 6;
  power = power * part + 0.5f;
  power = power * part + 1;
  power = power * part + 1;
  const int32_t whole = std::bit_cast<int32_t>(rounded) - std::bit_cast<int32_t>(kRound);
  return std::bit_cast<float>(std::bit_cast<int32_t>(power) + std::max(whole, -126) * (1 << 23));
}

// The sum of the losses as a function of β = 1 / temperature. Rows are shared out among the threads; their terms are added
// by one of them in order.
class LossOfBeta {
 public:
  LossOfBeta(const Context& context, const Matrix& margins)
      : context_(context),
        rows_(margins.rows),
        classes_(margins.cols),
        top_(rows_),
        behind_(rows_ * classes_),
        weights_(rows_ * classes_),
        sums_(rows_),
        slopes_(rows_) {
    ForRows([&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        const float* const of = margins.row(row);
        top_[row] = *std::max_element(of, of + classes_);
        for (size_t c = 0; c < classes_; ++c)
          behind_[row * classes_ + c] = std::max(of[c] - top_[row], kFarBehind);
      }
    });
  }

  struct Slope {
    double first = 0, second = 0;  // derivatives
  };
  Slope At(double beta) {
    beta_ = static_cast<float>(beta);
    ForRows([&](size_t begin, size_t end) {
      const float factor = beta_;
      const float* const behind = behind_.data();
      float* const weights = weights_.data();
      for (size_t i = begin * classes_; i < end * classes_; ++i)
        weights[i] = ExpOfNegative(factor * behind[i]);
      for (size_t row = begin; row < end; ++row) SumRow(row);
    });
    Slope slope;
    for (const Slope& of_row : slopes_) {
      slope.first += of_row.first;
      slope.second += of_row.second;
    }
    return slope;
  }
  double beta() const { return double{beta_}; }  // that was asked for last
  // Of the rows, at the β that was asked for last.
  std::vector<float> Losses() const {
    std::vector<float> losses(rows_);
    for (size_t row = 0; row < rows_; ++row) losses[row] = std::log(sums_[row]) + beta_ * top_[row];
    return losses;
  }

 private:
  // At least as many rows for a thread as are worth calling it.
  template <class Body>
  void ForRows(const Body& body) const {
    constexpr size_t kValuesAtOnce = 8192;
    ParallelFor(context_, rows_, kValuesAtOnce / std::max<size_t>(1, classes_) + 1, body);
  }

  void SumRow(size_t row) {
    const float* const behind = behind_.data() + row * classes_;
    const float* const weights = weights_.data() + row * classes_;
    float sum = 0, first = 0, second = 0;
    for (size_t c = 0; c < classes_; ++c) {
      const float product = weights[c] * behind[c];
      sum += weights[c];
      first += product;
      second += product * behind[c];
    }
    sums_[row] = sum;
    const float mean = first / sum;
    slopes_[row] = {double{mean} + double{top_[row]}, double{second / sum - mean * mean}};
  }

  const Context& context_;
  const size_t rows_, classes_;
  float beta_ = 1;
  std::vector<float> top_;               // (rows) the largest margin
  std::vector<float> behind_, weights_;  // (rows × classes) margins less that, and e^(β · them)
  std::vector<float> sums_;              // (rows) of the weights
  std::vector<Slope> slopes_;            // (rows) of the losses
};

}  // namespace

TemperatureScaling ScaleTemperature(const Context& context, const Matrix& margins) {
  LossOfBeta loss(context, margins);
  double least = kLeastBeta, most = 1, beta = 1;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    const LossOfBeta::Slope slope = loss.At(beta);
    const bool up = slope.first <= 0;  // the loss falls, or is level, as β grows
    if (up && beta == 1) break;
    (up ? least : most) = beta;
    const double next = beta - slope.first / slope.second;
    if (std::abs(next - beta) <= kNear * beta) break;
    beta = next > least && next < most ? next : std::sqrt(least * most);
  }
  return {1 / loss.beta(), loss.Losses()};
}

}  // namespace l2gcn
