#include "core/waiting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace l2gcn {
namespace {

std::chrono::steady_clock::duration SpinInVain(Patience& patience) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(patience.SpinUntil([] { return false; }));
  return std::chrono::steady_clock::now() - begin;
}
std::chrono::steady_clock::duration ShortestOf(int looks, Patience& patience) {
  auto shortest = SpinInVain(patience);
  for (int i = 1; i < looks; ++i) shortest = std::min(shortest, SpinInVain(patience));
  return shortest;
}

TEST(PatienceTest, ALongLookInVainIsFollowedByShortOnes) {
  Patience patience(true);
  EXPECT_GE(SpinInVain(patience), kLongSpin);
  EXPECT_LT(ShortestOf(16, patience), kLongSpin);
  EXPECT_GE(SpinInVain(patience), kLongSpin);  // it is tried again
}

TEST(PatienceTest, WhoShallNotBePatientNeverLooksForLong) {
  Patience patience(false);
  EXPECT_LT(ShortestOf(16, patience), kLongSpin);
}

TEST(PatienceTest, WhatIsThereIsSeenAtOnce) {
  Patience patience(true);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(patience.SpinUntil([] { return true; }));
}

TEST(SpinUntilTest, TellsThatTheCoreWasLost) {
  bool slept = false;
  const SpinResult look = SpinUntil(
      [&] {
        if (!slept) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        slept = true;
        return false;
      },
      kLongSpin);
  EXPECT_TRUE(look.lost_core);
  EXPECT_FALSE(look.changed);
}

TEST(WaitWordTest, AWaiterSleepsUntilTheValueChanges) {
  WaitWord word(1);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // by then the waiter sleeps
    word.Store(2);
  });
  word.WaitWhile(1);
  EXPECT_EQ(word.Load(), 2u);
  other.join();
}

}  // namespace
}  // namespace l2gcn
