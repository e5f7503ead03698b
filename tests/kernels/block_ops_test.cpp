// Norms of a step against their formulas in double, at sizes around the groups of rows that are summed first.
#include "kernels/block_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/rng.h"

namespace l2gcn {
namespace {

struct Sizes {
  size_t rows, cols;
};
constexpr Sizes kSizes[] = {{1, 5}, {2, 16}, {127, 33}, {128, 64}, {129, 1}, {700, 50}};

// (rows × BlockWidth(cols)) with zeros as padding; about `centre`.
std::vector<float> Values(Sizes sizes, uint32_t name, float centre) {
  const RandomStream stream(11, RandomUse::kGenerator, name);
  const size_t width = BlockWidth(sizes.cols);
  std::vector<float> values(sizes.rows * width, 0.0f);
  for (size_t i = 0; i < sizes.rows; ++i) {
    for (size_t c = 0; c < sizes.cols; ++c)
      values[i * width + c] = centre + stream.Normal(i * sizes.cols + c);
  }
  return values;
}

struct Result {
  std::vector<float> y, h, sums, products, d, moments;
};

Result Normalised(HiddenNorm kind, Sizes sizes, uint32_t threads) {
  Context context;
  context.threads = threads;
  const auto ops = MakeBlockOps(context);
  const size_t width = BlockWidth(sizes.cols);
  const std::vector<float> weight_and_bias = Values({2, sizes.cols}, 1, 0.5f);
  std::vector<float> inverse(std::max(sizes.rows, width));
  Result result{Values(sizes, 2, 100.0f),  std::vector<float>(sizes.rows * width),
                std::vector<float>(width), std::vector<float>(width),
                Values(sizes, 3, 0.1f),    std::vector<float>(2 * width)};
  const BlockNorm norm{kind,
                       sizes.rows,
                       sizes.cols,
                       width,
                       weight_and_bias.data(),
                       weight_and_bias.data() + width,
                       inverse.data(),
                       result.moments.data()};
  ops->NormRelu(context, norm, result.y.data(), result.h.data());
  ops->ColumnSums(context, sizes.rows, width, result.d.data(), result.y.data(), result.sums.data(),
                  result.products.data());
  ops->NormGradient(context, norm, result.y.data(), result.sums.data(), result.products.data(),
                    result.d.data());
  return result;
}

// One line of values that are normalised together: a row or a column.
struct Line {
  std::vector<double> x, weight, d;
};

// Checks y and d of the line against the formulas; at(i) is where value i stands.
template <class At>
void CheckLine(const Line& line, const Result& found, const At& at) {
  const auto n = static_cast<double>(line.x.size());
  double mean = 0, variance = 0, sum = 0, along = 0;
  for (double x : line.x) mean += x / n;
  for (double x : line.x) variance += (x - mean) * (x - mean) / n;
  const double inverse = 1 / std::sqrt(variance + 1e-5);
  for (size_t i = 0; i < line.x.size(); ++i) {
    sum += line.d[i] * line.weight[i] / n;
    along += line.d[i] * line.weight[i] * (line.x[i] - mean) * inverse / n;
  }
  for (size_t i = 0; i < line.x.size(); ++i) {
    const double y = (line.x[i] - mean) * inverse;
    // Values about 100 have lost five bits before they come here.
    const double slack = line.x.size() < 3 ? 2e-2 : 2e-4;
    ASSERT_NEAR(found.y[at(i)], y, slack);
    ASSERT_NEAR(found.d[at(i)], inverse * (line.d[i] * line.weight[i] - sum - y * along),
                slack * (1 + std::abs(inverse)));
  }
}

TEST(BlockOps, NormsAndTheirGradientsAreTheFormulas) {
  for (const Sizes sizes : kSizes) {
    const size_t width = BlockWidth(sizes.cols);
    const std::vector<float> x = Values(sizes, 2, 100.0f), d = Values(sizes, 3, 0.1f);
    const std::vector<float> weight_and_bias = Values({2, sizes.cols}, 1, 0.5f);
    for (HiddenNorm kind : {HiddenNorm::kLayer, HiddenNorm::kBatch}) {
      const Result found = Normalised(kind, sizes, 2);
      const bool by_row = kind == HiddenNorm::kLayer;
      for (size_t l = 0; l < (by_row ? sizes.rows : sizes.cols); ++l) {
        Line line;
        const auto at = [&](size_t i) { return by_row ? l * width + i : i * width + l; };
        for (size_t i = 0; i < (by_row ? sizes.cols : sizes.rows); ++i) {
          line.x.push_back(x[at(i)]);
          line.d.push_back(d[at(i)]);
          line.weight.push_back(weight_and_bias[by_row ? i : l]);
        }
        CheckLine(line, found, at);
      }
      for (size_t c = 0; c < sizes.cols; ++c) {
        double with_y = 0, sum = 0;
        for (size_t i = 0; i < sizes.rows; ++i) {
          const size_t at = i * width + c;
          with_y += static_cast<double>(d[at]) * static_cast<double>(found.y[at]);
          sum += static_cast<double>(d[at]);
          ASSERT_NEAR(found.h[at],
                      std::max(0.0f, found.y[at] * weight_and_bias[c] + weight_and_bias[width + c]), 1e-4);
        }
        EXPECT_NEAR(found.products[c], with_y, 1e-3);
        EXPECT_NEAR(found.sums[c], sum, 1e-3);
      }
      for (size_t i = 0; i < sizes.rows; ++i) {
        for (size_t c = sizes.cols; c < width; ++c) {
          ASSERT_EQ(found.h[i * width + c], 0.0f);
          ASSERT_EQ(found.d[i * width + c], 0.0f);
        }
      }
    }
  }
}

TEST(BlockOps, NormsHaveTheSameBitsForAnyThreadCount) {
  const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  };
  for (HiddenNorm kind : {HiddenNorm::kLayer, HiddenNorm::kBatch}) {
    const Result one = Normalised(kind, {700, 50}, 1);
    for (uint32_t threads : {2u, 3u, 5u}) {
      const Result many = Normalised(kind, {700, 50}, threads);
      EXPECT_TRUE(same(one.y, many.y) && same(one.h, many.h) && same(one.d, many.d));
      EXPECT_TRUE(same(one.sums, many.sums) && same(one.products, many.products));
      EXPECT_TRUE(kind == HiddenNorm::kLayer || same(one.moments, many.moments));
    }
  }
}

}  // namespace
}  // namespace l2gcn
