// What reading the next panel while one is in use rests on: memory whose pages move over, and tasks at somebody's pace.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "core/memory_meter.h"
#include "core/paced_tasks.h"
#include "kernels/disk/panel_memory.h"

namespace l2gcn {
namespace {

constexpr size_t kUnit = PanelMemory::kUnit, kPanel = 8 * kUnit;

bool IsFilledWith(const char* memory, size_t bytes, char value) {
  return std::all_of(memory, memory + bytes, [&](char byte) { return byte == value; });
}

// Any share of the next panel: none, some of it, all of it.
class PanelMemoryShareTest : public ::testing::TestWithParam<size_t> {};

TEST_P(PanelMemoryShareTest, WhatWasReadAheadIsThereAndPagesMoveOver) {
  PanelMemory memory(kPanel + 3 * kUnit);
  memory.Shape(kPanel - 5, GetParam());
  const size_t ahead = memory.ahead();
  EXPECT_LE(ahead, GetParam() + kUnit);
  std::memset(memory.now(), 1, kPanel);
  const uint64_t before = AnonymousBytes();
  for (char turn = 2; turn < 6; ++turn) {
    std::memset(memory.next(), turn, ahead);
    if (ahead > 0) {
      EXPECT_TRUE(IsFilledWith(memory.now() + ahead, kPanel - ahead, static_cast<char>(turn - 1)));
    }
    memory.Turn();
    EXPECT_TRUE(IsFilledWith(memory.now(), ahead, turn));
    std::memset(memory.now() + ahead, turn, kPanel - ahead);
    EXPECT_TRUE(IsFilledWith(memory.now(), kPanel, turn));
    EXPECT_LE(AnonymousBytes(), before + ahead + kUnit) << "no more than a panel and what is ahead";
  }
}

INSTANTIATE_TEST_SUITE_P(Shares, PanelMemoryShareTest,
                         ::testing::Values(0, kUnit - 1, kUnit, 3 * kUnit + 7, kPanel - 6, kPanel,
                                           2 * kPanel));

// Resident size of a stretch of memory.
size_t ResidentIn(const char* memory, size_t bytes) {
  std::vector<unsigned char> pages(bytes / 4096);
  EXPECT_EQ(mincore(const_cast<char*>(memory), bytes, pages.data()), 0);
  return 4096 * static_cast<size_t>(std::count_if(pages.begin(), pages.end(), [](auto p) { return p & 1; }));
}

TEST(PanelMemoryTest, PagesStayForTheNextShapeAndThoseBeyondItAreGivenBack) {
  PanelMemory memory(kPanel);
  memory.Shape(kPanel, 3 * kUnit);
  EXPECT_EQ(memory.held(), 0u);
  std::memset(memory.now(), 1, kPanel);
  std::memset(memory.next(), 1, 3 * kUnit);
  memory.Turn();
  EXPECT_EQ(memory.held(), kPanel + 3 * kUnit);
  memory.Shape(5 * kUnit, 0);
  EXPECT_EQ(memory.held(), 5 * kUnit);
  EXPECT_EQ(ResidentIn(memory.now(), kPanel), 5 * kUnit);
  memory.Shape(kPanel, kUnit);
  EXPECT_EQ(memory.held(), 5 * kUnit) << "what grows has no pages until it is written";
}

TEST(PanelMemoryTest, PagesAreAskedForInTheBackgroundAndCounted) {
  PanelMemory memory(kPanel);
  memory.FillInBackground(4 * kUnit - 7, 2 * kUnit);
  for (int look = 0; look < 10000 && memory.held() < 6 * kUnit; ++look)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  memory.StopFilling();
  EXPECT_EQ(ResidentIn(memory.now(), 2 * kPanel), memory.held())
      << "0 where the system fills no pages on request";
  memory.Shape(2 * kUnit, 0);
  EXPECT_LE(memory.held(), 2 * kUnit);
}

TEST(PacedTasksTest, NoTaskIsBegunBeforeItIsAllowedAndAllAreDoneInTheEnd) {
  std::atomic<size_t> begun{0}, most{0};
  PacedTasks tasks(100, 3, [&](size_t task, size_t worker) {
    EXPECT_LT(worker, 3u);
    ++begun;
    for (size_t seen = most; task > seen && !most.compare_exchange_weak(seen, task);) {
    }
  });
  for (const size_t allowed : {size_t{0}, size_t{10}, size_t{40}}) {
    tasks.Allow(allowed);
    while (begun < allowed) std::this_thread::yield();
    EXPECT_EQ(begun, allowed);
    EXPECT_EQ(most, std::max<size_t>(allowed, 1) - 1);
  }
  tasks.Finish();
  EXPECT_EQ(begun, 100u);
}

TEST(PacedTasksTest, AnErrorIsThrownAtTheEndAndTasksMayBeLeftOut) {
  PacedTasks failing(4, 2, [](size_t task, size_t) {
    if (task == 2) throw std::runtime_error("no");
  });
  EXPECT_THROW(failing.Finish(), std::runtime_error);
  std::atomic<size_t> begun{0};
  {
    PacedTasks waiting(5, 2, [&](size_t, size_t) { ++begun; });
  }
  EXPECT_EQ(begun, 0u);
  PacedTasks none(0, 2, [](size_t, size_t) {});
  none.Finish();
}

// Starts so many threads and then throws `Failure`.
template <class Failure>
PacedTasks::StartThread ThreadsThatEndAfter(size_t threads, Failure failure) {
  return [=, begun = size_t{0}](const std::function<void()>& work) mutable {
    if (begun++ == threads) throw failure;
    return std::async(std::launch::async, work);
  };
}

TEST(PacedTasksTest, AsManyThreadsWorkAsAreToBeHad) {
  const std::system_error none_left(std::make_error_code(std::errc::resource_unavailable_try_again));
  for (const size_t threads : {0, 1, 2}) {
    std::vector<std::atomic<int>> done(20);
    PacedTasks tasks(
        done.size(), 3,
        [&](size_t task, size_t worker) {
          EXPECT_LT(worker, std::max<size_t>(1, threads));
          ++done[task];
        },
        ThreadsThatEndAfter(threads, none_left));
    tasks.Allow(5);
    tasks.Finish();
    for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1) << threads;
    const PacedTasks left_out(
        5, 3, [](size_t, size_t) { FAIL(); }, ThreadsThatEndAfter(threads, none_left));
  }
  EXPECT_THROW(PacedTasks(
                   5, 3, [](size_t, size_t) { FAIL(); }, ThreadsThatEndAfter(1, std::bad_alloc())),
               std::bad_alloc);
}

}  // namespace
}  // namespace l2gcn
