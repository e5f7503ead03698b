#include "core/threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <thread>
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
  for (int round = 0; round < 2000; ++round) {
    std::atomic<int> left{5}, done{0};
    context.pool->Run(1 + static_cast<uint32_t>(round) % 3, [&](uint32_t) {
      while (left.fetch_sub(1) > 0) done.fetch_add(1);
    });
    ASSERT_EQ(done.load(), 5);
  }
}

// The caller does not wait for helpers that have not begun: here they cannot, because one of them is held up
// by the caller itself until its region is over.
TEST(ThreadPool, TheCallerWaitsOnlyForThoseWhoCame) {
  const Context context = MakeContext(4);
  std::atomic<bool> caller_done{false};
  std::atomic<int> came{0}, left_again{0};
  context.pool->Run(4, [&](uint32_t worker) {
    if (worker == 0) {
      caller_done = true;
      return;
    }
    ++came;
    while (!caller_done) std::this_thread::yield();
    ++left_again;
  });
  EXPECT_EQ(came.load(), left_again.load());
}

TEST(ThreadPool, MoreThreadsThanCoresStillCoverEverything) {
  const Context context = MakeContext(24);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> hits(97, 0);
    ParallelFor(context, hits.size(), 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) ++hits[i];
    });
    for (int hit : hits) ASSERT_EQ(hit, 1);
  }
  EXPECT_GE(context.pool->Prompt(), 1u);
  EXPECT_LE(context.pool->Prompt(), 24u);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Where the system gives no more threads, those there are do the work.
TEST(ThreadPoolDeathTest, ALimitOnMemoryMeansFewerThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        rlimit limit{};
        getrlimit(RLIMIT_AS, &limit);
        limit.rlim_cur = size_t{256} << 20;  // 4,000 stacks need more
        setrlimit(RLIMIT_AS, &limit);
        const Context context = MakeContext(4000);
        std::atomic<int> total{0};
        ParallelTasks(context, 100, [&](size_t, uint32_t) { total.fetch_add(1); });
        std::_Exit(context.threads < 4000 && context.threads >= 1 && total == 100 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}
#endif

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

}  // namespace
}  // namespace l2gcn
