#include "core/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace l2gcn {
namespace {

// Known answers of Philox4x32-10 from the authors' Random123 distribution (kat_vectors).
TEST(Philox, KnownAnswers) {
  const Philox4 zeros = PhiloxBlock(0, 0, 0);
  EXPECT_EQ(zeros.v[0], 0x6627e8d5u);
  EXPECT_EQ(zeros.v[1], 0xe169c58du);
  EXPECT_EQ(zeros.v[2], 0xbc57ac4cu);
  EXPECT_EQ(zeros.v[3], 0x9b00dbd8u);
  const Philox4 ones = PhiloxBlock(~0ull, ~0ull, ~0ull);
  EXPECT_EQ(ones.v[0], 0x408f276du);
  EXPECT_EQ(ones.v[1], 0x41c83b0eu);
  EXPECT_EQ(ones.v[2], 0xa20bc7c6u);
  EXPECT_EQ(ones.v[3], 0x6d5451fdu);
}

TEST(Permutation, IsABijectionForEverySize) {
  for (uint32_t size : {1u, 2u, 3u, 7u, 16u, 17u, 255u, 256u, 1208u, 65537u}) {
    const Permutation permutation(size, RandomStream(5, RandomUse::kShuffle, 0, 3));
    std::vector<char> seen(size, 0);
    for (uint32_t i = 0; i < size; ++i) {
      ASSERT_LT(permutation(i), size);
      ++seen[permutation(i)];
    }
    for (uint32_t i = 0; i < size; ++i) ASSERT_EQ(seen[i], 1) << "size " << size << " value " << i;
  }
}

// Over many epochs each value should land in each of 8 blocks of positions equally often (chi-square), and
// neighbours in the input should not stay neighbours.
TEST(Permutation, MixesLikeARandomShuffle) {
  constexpr uint32_t kSize = 64, kEpochs = 20000;
  std::vector<double> count(kSize * 8, 0);
  double adjacent = 0;
  for (uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    const Permutation permutation(kSize, RandomStream(1, RandomUse::kShuffle, 0, epoch));
    for (uint32_t i = 0; i < kSize; ++i) count[permutation(i) * 8 + i / 8] += 1;
    for (uint32_t i = 0; i + 1 < kSize; ++i) adjacent += permutation(i) + 1 == permutation(i + 1) ? 1 : 0;
  }
  const double expected = kEpochs / 8.0;
  double chi2 = 0;
  for (double c : count) chi2 += (c - expected) * (c - expected) / expected;
  const double freedom = (kSize - 1) * 7.0;
  EXPECT_NEAR(chi2, freedom, 6 * std::sqrt(2 * freedom));
  const double expected_adjacent = kEpochs * (kSize - 1.0) / kSize;
  EXPECT_NEAR(adjacent, expected_adjacent, 6 * std::sqrt(expected_adjacent));
}

TEST(RandomStream, NormalHasUnitMoments) {
  const RandomStream stream(3, RandomUse::kGenerator);
  double sum = 0, squares = 0;
  constexpr int kDraws = 200000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = stream.Normal(static_cast<uint64_t>(i));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.01);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
}

}  // namespace
}  // namespace l2gcn
