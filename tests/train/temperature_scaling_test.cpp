// Losses of nodes after the temperature that suits all of them best.
#include "train/temperature_scaling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/rng.h"
#include "l2gcn/context.h"

namespace l2gcn {
namespace {

// Margins of nodes whose classes are drawn from their own logits, which are then multiplied by `factor`.
Matrix DrawnMargins(size_t nodes, size_t classes, double factor) {
  Matrix margins = Matrix::Allocate(nodes, classes);
  const RandomStream stream(7, RandomUse::kController, 3);
  uint64_t drawn = 0;
  const auto uniform = [&] { return double{stream.Uniform(drawn++)}; };
  for (size_t i = 0; i < nodes; ++i) {
    float* const row = margins.mutable_row(i);
    double sum = 0;
    for (size_t c = 0; c < classes; ++c) {
      row[c] = static_cast<float>(4 * uniform() - 2);
      sum += std::exp(double{row[c]});
    }
    double left = uniform() * sum;
    size_t truth = 0;
    while (left > std::exp(double{row[truth]}) && truth + 1 < classes) left -= std::exp(double{row[truth++]});
    const float own = row[truth];
    for (size_t c = 0; c < classes; ++c) row[c] = static_cast<float>(factor) * (row[c] - own);
  }
  return margins;
}

TemperatureScaling ScaleAlone(const Matrix& margins) { return ScaleTemperature(MakeContext(1), margins); }

double MeanOf(const std::vector<float>& losses) {
  double sum = 0;
  for (const float loss : losses) sum += double{loss};
  return sum / static_cast<double>(losses.size());
}

double MeanLossAt(const Matrix& margins, double temperature) {
  double sum = 0;
  for (size_t i = 0; i < margins.rows; ++i) {
    double row = 0;
    for (size_t c = 0; c < margins.cols; ++c) row += std::exp(double{margins.row(i)[c]} / temperature);
    sum += std::log(row);
  }
  return sum / static_cast<double>(margins.rows);
}

// Whatever logits are multiplied by, the temperature finds it, and the losses are those of the logits before.
TEST(TemperatureScaling, FindsWhatLogitsWereMultipliedBy) {
  for (const double factor : {1.5, 3.0, 40.0}) {
    const TemperatureScaling found = ScaleAlone(DrawnMargins(3000, 5, factor));
    EXPECT_NEAR(found.temperature, factor, 0.1 * factor);
    EXPECT_NEAR(MeanOf(found.losses), MeanLossAt(DrawnMargins(3000, 5, 1), 1), 2e-3);
  }
}

TEST(TemperatureScaling, NoOtherTemperatureIsBetter) {
  for (const size_t classes : {2, 4, 41}) {
    const Matrix margins = DrawnMargins(200, classes, 6);
    const TemperatureScaling found = ScaleAlone(margins);
    EXPECT_NEAR(MeanOf(found.losses), MeanLossAt(margins, found.temperature), 1e-5);
    for (double temperature = 1; temperature < 30; temperature *= 1.1)
      EXPECT_LE(MeanOf(found.losses), MeanLossAt(margins, temperature) + 3e-5) << temperature;
  }
}

TEST(TemperatureScaling, ThreadsChangeNoBit) {
  const Matrix margins = DrawnMargins(3001, 17, 6);
  const TemperatureScaling alone = ScaleAlone(margins);
  for (const uint32_t threads : {2u, 3u, 7u}) {
    const TemperatureScaling found = ScaleTemperature(MakeContext(threads), margins);
    EXPECT_EQ(found.temperature, alone.temperature) << threads;
    EXPECT_EQ(found.losses, alone.losses) << threads;
  }
}

// A layer that is not sure enough of itself keeps its own losses.
TEST(TemperatureScaling, IsNeverCoolerThanOne) {
  const Matrix shy = DrawnMargins(500, 3, 0.3);
  const TemperatureScaling found = ScaleAlone(shy);
  EXPECT_EQ(found.temperature, 1);
  for (size_t i = 0; i < shy.rows; ++i) {
    double sum = 0;
    for (size_t c = 0; c < 3; ++c) sum += std::exp(double{shy.row(i)[c]});
    EXPECT_NEAR(double{found.losses[i]}, std::log(sum), 1e-5);
  }
}

// Nodes that are all right, that say nothing, and that are all wrong and sure of it: each ends, with finite losses.
TEST(TemperatureScaling, EndsWhereThereIsNoMinimum) {
  Matrix right = Matrix::Zeros(3, 2), wrong = Matrix::Zeros(3, 2);
  for (size_t i = 0; i < 3; ++i) right.mutable_row(i)[1] = -200, wrong.mutable_row(i)[1] = 200;
  EXPECT_EQ(ScaleAlone(right).temperature, 1);
  EXPECT_NEAR(double{ScaleAlone(right).losses[0]}, 0, 1e-6);
  const TemperatureScaling nothing = ScaleAlone(Matrix::Zeros(3, 4)), sure = ScaleAlone(wrong);
  EXPECT_EQ(nothing.temperature, 1);
  EXPECT_NEAR(double{nothing.losses[0]}, std::log(4.0), 1e-6);
  EXPECT_GT(sure.temperature, 90);
  EXPECT_LT(sure.losses[0], 3.0f);
}

}  // namespace
}  // namespace l2gcn
