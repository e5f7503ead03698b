#include "data/radix_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "core/rng.h"

namespace l2gcn {
namespace {

struct NumberedKey {
  uint64_t key;
  uint64_t number;  // the place it came from
  bool operator==(const NumberedKey&) const = default;
};

// Sorts, and checks the order against std::stable_sort and the pieces against what is promised of them.
void ExpectSorted(size_t count, const std::function<uint64_t(size_t)>& key_of, const char* what) {
  SCOPED_TRACE(what);
  std::vector<NumberedKey> items(count);
  for (size_t i = 0; i < count; ++i) items[i] = {key_of(i), i};
  std::vector<NumberedKey> expected = items, scratch(count), sorted;
  std::stable_sort(expected.begin(), expected.end(),
                   [](const NumberedKey& a, const NumberedKey& b) { return a.key < b.key; });
  SortByPieces<NumberedKey>(items, scratch, [&](std::span<NumberedKey> piece) {
    ASSERT_FALSE(piece.empty());
    if (!sorted.empty()) {
      EXPECT_LT(sorted.back().key >> 1, piece.front().key >> 1) << "cut in the lowest bit";
    }
    sorted.insert(sorted.end(), piece.begin(), piece.end());
    std::fill(piece.begin(), piece.end(), NumberedKey{~uint64_t{0}, 0});  // emit may do so
  });
  EXPECT_TRUE(sorted == expected);
}

TEST(SortByPieces, SortsKeysOfAnyShapeStably) {
  const RandomStream stream(3, RandomUse::kGenerator);
  const auto random = [&](size_t i) { return stream.Below(i, ~uint64_t{0}); };
  for (const size_t count : {0, 1, 2, 100, 8192, 8193, 100'000, 1'000'000}) {
    ExpectSorted(count, random, "64 random bits");
  }
  constexpr size_t kCount = 200'000;
  ExpectSorted(
      kCount, [](size_t) { return uint64_t{77}; }, "one key");
  ExpectSorted(
      kCount, [&](size_t i) { return random(i) & 1; }, "the lowest bit alone");
  ExpectSorted(
      kCount, [&](size_t i) { return random(i) & 3; }, "two bits");
  ExpectSorted(
      kCount, [&](size_t i) { return random(i) & 0x8000000000000001; }, "both ends");
  ExpectSorted(
      kCount, [](size_t i) { return uint64_t{i}; }, "sorted already");
  ExpectSorted(
      kCount, [](size_t i) { return kCount - uint64_t{i}; }, "from behind");
  ExpectSorted(
      kCount, [&](size_t i) { return random(i) % 100 << 32 | random(i + kCount) % 1000 << 1; },
      "few rows and columns, many repeats");
}

// Two rows far apart, each full: the highest digits tell only the rows, and insertions alone would take
// the square of the time.
TEST(SortByPieces, FewLongRowsTakeNoLongerThanTheirDigits) {
  const RandomStream stream(4, RandomUse::kGenerator);
  constexpr size_t kCount = 3'000'000;
  ExpectSorted(
      kCount, [&](size_t i) { return uint64_t{i % 2} << 62 | stream.Below(i, 1u << 20); }, "two rows");
  ExpectSorted(
      kCount, [&](size_t i) { return uint64_t{i % 300} << 54 | stream.Below(i, 1u << 12); }, "300 rows");
}

}  // namespace
}  // namespace l2gcn
