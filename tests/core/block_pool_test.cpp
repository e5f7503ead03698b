#include "core/block_pool.h"

#include <gtest/gtest.h>

namespace l2gcn {
namespace {

constexpr size_t kLarge = size_t{8} << 20;  // bytes

TEST(BlockPool, ABlockGivenBackServesTheNextOfItsSize) {
  BlockPool pool;
  const void* first = nullptr;
  {
    const Array<char> array = pool.Allocate<char>(kLarge);
    first = array.data();
    EXPECT_EQ(pool.kept_bytes(), 0u);
  }
  EXPECT_EQ(pool.kept_bytes(), kLarge);
  const Array<float> again = pool.Allocate<float>(kLarge / sizeof(float) / 2);
  EXPECT_EQ(again.data(), first);
  EXPECT_EQ(again.size(), kLarge / sizeof(float) / 2);
  EXPECT_EQ(pool.kept_bytes(), 0u);
}

TEST(BlockPool, ABlockInUseIsNotHandedOutTwice) {
  BlockPool pool;
  const Array<char> one = pool.Allocate<char>(kLarge);
  Array<char> copy = one;
  Array<char> two = pool.Allocate<char>(kLarge);
  EXPECT_NE(one.data(), two.data());
  two = {};
  copy = {};  // `one` still holds that block
  EXPECT_EQ(pool.kept_bytes(), kLarge);
}

TEST(BlockPool, BlocksTooSmallForARequestAreFreedBeforeMoreIsAsked) {
  BlockPool pool;
  pool.Allocate<char>(kLarge);
  EXPECT_EQ(pool.kept_bytes(), kLarge);
  const Array<char> larger = pool.Allocate<char>(2 * kLarge);
  EXPECT_EQ(pool.kept_bytes(), 0u);
}

TEST(BlockPool, KeepsTheTwoLargestAndNothingSmall) {
  BlockPool pool;
  {
    const Array<char> a = pool.Allocate<char>(kLarge), b = pool.Allocate<char>(2 * kLarge),
                      c = pool.Allocate<char>(3 * kLarge), small = pool.Allocate<char>(1000);
  }
  EXPECT_EQ(pool.kept_bytes(), 5 * kLarge);
  EXPECT_TRUE(pool.Allocate<char>(0).empty());
}

TEST(BlockPool, AMuchLargerBlockIsNotSpentOnASmallRequest) {
  BlockPool pool;
  pool.Allocate<char>(16 * kLarge);
  const Array<char> small = pool.Allocate<char>(kLarge);
  EXPECT_EQ(pool.kept_bytes(), 16 * kLarge);
}

TEST(BlockPool, ArraysOutliveTheirPool) {
  Array<char> array;
  {
    BlockPool pool;
    array = pool.Allocate<char>(kLarge);
  }
  array.mutable_data()[kLarge - 1] = 7;
  EXPECT_EQ(array[kLarge - 1], 7);
}

TEST(BlockPool, ClearLetsKeptBlocksGoAndLeavesThoseInUse) {
  BlockPool pool;
  Array<char> in_use = pool.Allocate<char>(kLarge);
  in_use.mutable_data()[0] = 7;
  pool.Allocate<char>(2 * kLarge);
  EXPECT_EQ(pool.kept_bytes(), 2 * kLarge);
  pool.Clear();
  EXPECT_EQ(pool.kept_bytes(), 0u);
  EXPECT_EQ(in_use[0], 7);
  in_use = {};
  EXPECT_EQ(pool.kept_bytes(), kLarge);  // the pool goes on working
}

}  // namespace
}  // namespace l2gcn
