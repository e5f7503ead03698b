#include "core/memory_meter.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace l2gcn {
namespace {

constexpr uint64_t kTestBlock = uint64_t{48} << 20;
constexpr uint64_t kTestSlack = uint64_t{8} << 20;  // what the process may do beside the test

// Touches every page of a block and lets it go; returns what was resident meanwhile. The block comes from the
// kernel, because an allocator may keep what is freed, as the address sanitiser's does.
uint64_t TouchBlock() {
  void* block = mmap(nullptr, kTestBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(block, MAP_FAILED);
  std::memset(block, 1, kTestBlock);
  const uint64_t resident = ResidentBytes();
  munmap(block, kTestBlock);
  return resident;
}

TEST(MemoryMeter, ResidentMemoryGrowsAndShrinksWithWhatIsTouched) {
  const uint64_t before = ResidentBytes();
  ASSERT_GT(before, 0u);
  EXPECT_GT(TouchBlock(), before + kTestBlock - kTestSlack);
  EXPECT_LT(ResidentBytes(), before + kTestSlack);
  EXPECT_GT(AvailableBytes(), 0u);
}

TEST(MemoryMeter, ThePeakStaysUntilItIsReset) {
  const uint64_t before = ResidentBytes();
  TouchBlock();
  EXPECT_GT(PeakResidentBytes(), before + kTestBlock - kTestSlack);
  if (!ResetPeakResidentBytes()) GTEST_SKIP() << "this kernel does not reset the peak";
  EXPECT_LT(PeakResidentBytes(), before + kTestSlack);
}

TEST(PeakMeter, WhatHappensInAPauseDoesNotCount) {
  if (!ResetPeakResidentBytes()) GTEST_SKIP() << "this kernel does not reset the peak";
  PeakMeter meter;
  const uint64_t before = meter.Peak();
  meter.Pause();
  TouchBlock();
  meter.Resume();
  EXPECT_LT(meter.Peak(), before + kTestSlack);
  TouchBlock();
  EXPECT_GT(meter.Peak(), before + kTestBlock - kTestSlack);
  meter.Pause();
  EXPECT_GT(meter.Peak(), before + kTestBlock - kTestSlack);  // a pause forgets nothing from before it
}

TEST(StretchMeter, KnowsThePeakThatAStretchSetAndWhatIsResidentElse) {
  ResetPeakResidentBytes();
  uint64_t high = 0, low = 0;
  StretchMeter meter;
  TouchBlock();
  meter.End(high);
  EXPECT_GE(high, ResidentBytes() + kTestBlock - kTestSlack);
  meter.End(low);
  EXPECT_LT(low, high - kTestBlock + kTestSlack);
  EXPECT_GT(low, 0u);
  uint64_t kept = high * 2;
  meter.End(kept);
  EXPECT_EQ(kept, high * 2);
}

}  // namespace
}  // namespace l2gcn
