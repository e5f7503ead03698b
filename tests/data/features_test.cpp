#include "l2gcn/features.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/rng.h"
#include "data/fixtures.h"
#include "data/npy.h"
#include "data/prepare.h"
#include "data/samples.h"

namespace l2gcn {
namespace {

constexpr size_t kFeatureRows = 70, kFeatureCols = 9;

// Multiples of 1/8 below 16, which f16 holds exactly and bf16 nearly; every third one is 0.
Matrix CoarseMatrix() {
  Matrix rows = Matrix::Zeros(kFeatureRows, kFeatureCols);
  const RandomStream stream(11, RandomUse::kGenerator);
  float* values = rows.values.mutable_data();
  for (size_t i = 0; i < rows.values.size(); ++i) {
    if (i % 3 != 0) values[i] = std::floor(stream.Uniform(i) * 256 - 128) / 8;
  }
  return rows;
}

// The f16 of a multiple of 1/8 below 16, by the definition of the format.
uint16_t HalfOf(float value) {
  if (value == 0) return 0;
  int exponent = 0;
  const float fraction = std::frexp(std::abs(value), &exponent);  // value = fraction · 2^exponent, ½ ≤ f < 1
  const auto mantissa = static_cast<uint32_t>(std::ldexp(fraction, 11)) & 0x3FFu;
  return static_cast<uint16_t>((value < 0 ? 0x8000u : 0u) | static_cast<uint32_t>(exponent + 14) << 10 |
                               mantissa);
}

Features HalfFeatures(const Matrix& rows) {
  std::vector<uint16_t> halves;
  for (const float value : rows.values) halves.push_back(HalfOf(value));
  return Features::Stored(FeatureType::kF16, Array<uint16_t>::CopyOf(halves), rows.rows, rows.cols);
}

Features SparseFeaturesOf(const Matrix& rows) {
  std::vector<uint64_t> indptr{0};
  std::vector<uint32_t> indices;
  std::vector<float> values;
  for (size_t i = 0; i < rows.rows; ++i) {
    for (size_t c = 0; c < rows.cols; ++c) {
      if (rows.row(i)[c] == 0) continue;
      indices.push_back(static_cast<uint32_t>(c));
      values.push_back(rows.row(i)[c]);
    }
    indptr.push_back(indices.size());
  }
  return Features::Sparse({rows.rows, rows.cols, ArrayOf(indptr), ArrayOf(indices), ArrayOf(values)});
}

TEST(Features, EveryF16AndBf16IsWidenedAsItsFormatSays) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const int exponent = (half >> 10) & 31, mantissa = half & 1023;
    const double sign = half & 0x8000 ? -1 : 1;
    const double expected = exponent == 0    ? sign * std::ldexp(mantissa, -24)
                            : exponent == 31 ? sign * INFINITY
                                             : sign * std::ldexp(1024 + mantissa, exponent - 25);
    const float widened = WidenHalf(half, FeatureType::kF16);
    if (exponent == 31 && mantissa != 0) {
      EXPECT_TRUE(std::isnan(widened)) << bits;
    } else {
      EXPECT_EQ(static_cast<double>(widened), expected) << bits;
    }
    EXPECT_EQ(std::bit_cast<uint32_t>(WidenHalf(half, FeatureType::kBf16)), bits << 16);
  }
}

TEST(Features, NarrowingToF16TakesTheNearestAndTheEvenOfTwo) {
  for (uint32_t bits = 0; bits < 0x7C00u; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = WidenHalf(half, FeatureType::kF16);
    const float next =
        bits + 1 == 0x7C00u ? 65536.0f : WidenHalf(static_cast<uint16_t>(bits + 1), FeatureType::kF16);
    const float middle = value + (next - value) / 2;  // exact
    ASSERT_EQ(NarrowToF16(value), half);
    ASSERT_EQ(NarrowToF16(-value), half | 0x8000u);
    ASSERT_EQ(NarrowToF16(std::nextafter(middle, 0.0f)), half);
    ASSERT_EQ(NarrowToF16(std::nextafter(middle, 1e9f)), half + 1);
    ASSERT_EQ(NarrowToF16(middle), half + (bits & 1));
  }
  EXPECT_EQ(NarrowToF16(1e6f), 0x7C00u);
  EXPECT_EQ(NarrowToF16(std::numeric_limits<float>::quiet_NaN()) & 0x7C00u, 0x7C00u);
}

TEST(Features, AllStoragesGiveTheSameRows) {
  const Context context = MakeContext(2);
  const Matrix rows = CoarseMatrix();
  for (const Features& features : {Features::Dense(rows), HalfFeatures(rows), SparseFeaturesOf(rows)}) {
    ExpectSameArray(features.ToMatrix(context).values, rows.values, "whole");
    std::vector<float> block(4 * kFeatureCols);
    features.ReadRows(31, 4, block.data());
    EXPECT_EQ(block, std::vector<float>(rows.row(31), rows.row(35)));
    const std::vector<uint32_t> picked = {9, 0, 69};
    features.GatherRows(picked, block.data());
    EXPECT_EQ(block[kFeatureCols + 1], rows.row(0)[1]);
    const Features fewer = features.PickRows(picked);
    EXPECT_EQ(fewer.type(), features.type());
    EXPECT_EQ(fewer.rows(), 3u);
    fewer.ReadRows(2, 1, block.data());
    EXPECT_TRUE(std::equal(rows.row(69), rows.row(70), block.data()));
  }
}

// The oracle prepares a whole f32 matrix; lazily prepared rows of any storage must have its bits.
TEST(Features, LazyPreparationHasTheBitsOfAPreparedMatrix) {
  const Context context = MakeContext(3);
  const Matrix rows = CoarseMatrix();
  for (const Scale scale : {Scale::kStandard, Scale::kMinMax, Scale::kRow}) {
    const Model::Preparation fitted = FitPreparation(context, Features::Dense(rows), {}, scale, 0, 0);
    Matrix expected = Matrix::Zeros(kFeatureRows, kFeatureCols);
    for (size_t i = 0; i < kFeatureRows; ++i) {
      double sum = 0;
      for (size_t c = 0; c < kFeatureCols; ++c) sum += std::abs(rows.row(i)[c]);
      for (size_t c = 0; c < kFeatureCols; ++c) {
        expected.mutable_row(i)[c] = fitted.row_normalise
                                         ? rows.row(i)[c] * static_cast<float>(1 / sum)
                                         : (rows.row(i)[c] - fitted.shift[c]) * fitted.factor[c];
      }
    }
    for (const Features& features : {Features::Dense(rows), HalfFeatures(rows), SparseFeaturesOf(rows)}) {
      const Features prepared = ApplyPreparation(context, fitted, features);
      ExpectSameArray(prepared.ToMatrix(context).values, expected.values,
                      std::to_string(static_cast<int>(scale)).c_str());
      EXPECT_EQ(prepared.bytes(), features.bytes());
      std::vector<float> one(kFeatureCols);
      const std::vector<uint32_t> some = {5, 41};
      prepared.PickRows(some).ReadRows(1, 1, one.data());
      EXPECT_TRUE(std::equal(expected.row(41), expected.row(42), one.data())) << static_cast<int>(scale);
    }
  }
}

TEST(Features, FittingOnF16IsFittingOnItsValues) {
  const Context context = MakeContext(2);
  const Matrix rows = CoarseMatrix();
  const Model::Preparation wide = FitPreparation(context, Features::Dense(rows), {}, Scale::kStandard, 3, 5);
  const Model::Preparation half = FitPreparation(context, HalfFeatures(rows), {}, Scale::kStandard, 3, 5);
  ExpectSameArray(wide.shift, half.shift, "shift");
  ExpectSameArray(wide.factor, half.factor, "factor");
  ExpectSameArray(wide.projection.values, half.projection.values, "projection");
  ExpectSameArray(ApplyPreparation(context, wide, Features::Dense(rows)).ToMatrix(context).values,
                  ApplyPreparation(context, half, HalfFeatures(rows)).ToMatrix(context).values, "projected");
}

TEST(Features, AnF16FileIsMappedNotWidened) {
  const Context context = MakeContext(1);
  TemporaryFolder folder;
  const Matrix rows = CoarseMatrix();
  const Features half = HalfFeatures(rows);
  NpyWriter writer(folder.path() / "x.npy", "<f2", {kFeatureCols});
  writer.Write(half.elements(), half.bytes());
  writer.Close(kFeatureRows);
  const NpyArray array = NpyArray::Open(folder.path() / "x.npy");
  const Features opened = array.AsFeatures(context);
  EXPECT_EQ(opened.type(), FeatureType::kF16);
  EXPECT_EQ(opened.elements(), array.payload().data());
  ExpectSameArray(opened.ToMatrix(context).values, rows.values, "values");
}

TEST(Features, WrongShapesAndAccessorsAreErrors) {
  EXPECT_THROW(Features::Dense({Array<float>::Zeros(5), 2, 3}), Error);
  EXPECT_THROW(Features::Stored(FeatureType::kF32, Array<uint16_t>::Zeros(6), 2, 3), Error);
  EXPECT_THROW(Features::Stored(FeatureType::kF16, Array<uint16_t>::Zeros(5), 2, 3), Error);
  EXPECT_THROW(Features::Sparse({2, 3, Array<uint64_t>::Zeros(2), {}, {}}), Error);
  const Features dense = Features::Dense(Matrix::Zeros(2, 3));
  EXPECT_THROW(dense.csr(), Error);
  EXPECT_THROW(dense.halves(), Error);
  EXPECT_THROW(dense.ToCsr(MakeContext(1)), Error);
  EXPECT_THROW(SparseFeaturesOf(Matrix::Zeros(2, 3)).matrix(), Error);
  EXPECT_EQ(Features::None(4).rows(), 4u);
  EXPECT_EQ(Features::None(4).cols(), 0u);
}

}  // namespace
}  // namespace l2gcn
