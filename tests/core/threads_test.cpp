#include "core/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace l2gcn {
namespace {

TEST(ParallelFor, CoversEveryIndexOnce) {
  for (uint32_t threads : {1u, 2u, 3u, 5u}) {
    const Context context = MakeContext(threads);
    for (size_t count : {0u, 1u, 2u, 7u, 1000u}) {
      std::vector<int> hits(count, 0);
      ParallelFor(context, count, 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) ++hits[i];
      });
      for (int hit : hits) EXPECT_EQ(hit, 1);
    }
  }
}

TEST(ParallelTasks, CoversEveryTaskOnce) {
  const Context context = MakeContext(4);
  std::vector<int> hits(1000, 0);
  ParallelTasks(context, hits.size(), [&](size_t task, uint32_t worker) {
    ASSERT_LT(worker, 4u);
    ++hits[task];
  });
  for (int hit : hits) EXPECT_EQ(hit, 1);
}

TEST(ThreadPool, ManySmallRegionsAfterSleep) {
  const Context context = MakeContext(3);
  std::atomic<int> total{0};
  for (int round = 0; round < 2000; ++round) {
    context.pool->Run(1 + static_cast<uint32_t>(round) % 3, [&](uint32_t) { total.fetch_add(1); });
  }
  EXPECT_EQ(total.load(), 2000 + 667 + 2 * 666);
}

TEST(ThreadPool, FirstExceptionReachesTheCallerAndThePoolSurvives) {
  const Context context = MakeContext(3);
  EXPECT_THROW(ParallelTasks(context, 100,
                             [](size_t task, uint32_t) {
                               if (task == 41) throw std::runtime_error("task 41");
                             }),
               std::runtime_error);
  std::atomic<int> total{0};
  ParallelTasks(context, 10, [&](size_t, uint32_t) { total.fetch_add(1); });
  EXPECT_EQ(total.load(), 10);
}

TEST(Barrier, SeparatesPhases) {
  const Context context = MakeContext(4);
  Barrier barrier(4);
  std::vector<int> first(4, 0);
  std::atomic<bool> ok{true};
  context.pool->Run(4, [&](uint32_t worker) {
    for (int round = 1; round <= 200; ++round) {
      first[worker] = round;
      barrier.Wait();
      for (int value : first) {
        if (value != round) ok = false;
      }
      barrier.Wait();
    }
  });
  EXPECT_TRUE(ok.load());
}

}  // namespace
}  // namespace l2gcn
