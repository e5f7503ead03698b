// The backend whose matrices are shared out over ranks against the CPU backend, bit by bit. Threads stand for ranks.
#include "kernels/ranks/ranks_backend.h"

#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "core/threads.h"
#include "kernels/cpu/aggregate.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/ranks/hosted_backend.h"
#include "kernels/ranks/rank_training.h"
#include "kernels/ranks_cases.h"
#include "kernels/sparse_density.h"
#include "ranks/collectives.h"
#include "ranks/shared_memory.h"

namespace l2gcn {
namespace {

using ranks_cases::Body;
using ranks_cases::Compare;
using ranks_cases::CompareFeatures;
using ranks_cases::CompareForms;
using ranks_cases::CompareFullGraph;
using ranks_cases::CompareOperations;
using ranks_cases::CompareSubgraph;
using ranks_cases::CompareTraining;
using ranks_cases::ExpectSeen;
using ranks_cases::kSizes;
using ranks_cases::RandomMatrix;
using ranks_cases::See;
using ranks_cases::SeenAlone;
using ranks_cases::SomeGraph;
using ranks_cases::TrainAndScore;

// As ranks on GPUs do: rows lie in host memory and are brought to a device, for which the CPU stands.
std::unique_ptr<Backend> MakeHostedRanks(const Context& context, const BackendOptions& options) {
  const std::shared_ptr<Backend> trainer = MakeCpuBackend(options);
  LocalBackends backends;
  backends.make_trainer = [=](const BackendOptions&) { return trainer; };
  backends.make_local = [=](const BackendOptions& own) {
    return MakeHostedBackend(own == options ? trainer : std::shared_ptr<Backend>(MakeCpuBackend(own)),
                             own.features_as);
  };
  backends.sum_in_place = false;
  backends.sparse_density = SparseDensityOf(DeviceKind::kCpu);
  return MakeRanksBackend(context, options, backends);
}

// By messages, in memory that all see, and with rows that are brought to a device.
Compare OnTheCpu(const BackendOptions& options) {
  return [=](const Body& body) {
    const std::vector<Matrix> expected = SeenAlone(MakeContext(2), options, body);
    for (const uint32_t size : kSizes) {
      for (const std::string exchange : {"messages", "memory"}) {
        ExpectSeen(
            expected, size, DeviceKind::kCpu, exchange,
            [&](const Context& context) { return MakeBackend(context, options); }, body);
      }
    }
    ExpectSeen(
        expected, 3, DeviceKind::kCpu, "messages",
        [&](const Context& context) { return MakeHostedRanks(context, options); }, body);
  };
}

class RanksBackendTest : public ::testing::TestWithParam<FeatureType> {
 protected:
  const Compare compare_ = OnTheCpu({.features_as = GetParam()});
};

TEST_P(RanksBackendTest, EveryOperationHasTheBitsOfOneProcess) { CompareOperations(compare_); }
TEST_P(RanksBackendTest, RowsOfASubgraph) { CompareSubgraph(compare_); }
TEST_P(RanksBackendTest, TilesOfAFullGraph) { CompareFullGraph(compare_); }
TEST_P(RanksBackendTest, SparseAndPreparedFeatures) { CompareFeatures(compare_); }

INSTANTIATE_TEST_SUITE_P(Types, RanksBackendTest,
                         ::testing::Values(FeatureType::kF32, FeatureType::kF16, FeatureType::kBf16));

// ---- training -------------------------------------------------------------------------------------------------

TEST(RanksTrainingTest, FewRowsTravelWhole) { CompareTraining(OnTheCpu({})); }
TEST(RanksTrainingTest, LayersOfAnyForm) { CompareForms(OnTheCpu({})); }

// 64 MiB of rows are taken by windows.
TEST(RanksTrainingTest, ManyRowsTravelByWindows) {
  constexpr uint32_t kRows = 17003;
  const Features left = Features::Dense(RandomMatrix(kRows + 50, 600, 3)),
                 right = Features::Dense(RandomMatrix(kRows + 50, 400, 4));
  std::vector<uint32_t> samples(kRows);
  std::iota(samples.begin(), samples.end(), 20u);
  const auto train = [&](Backend& backend, const Context& context, const See& see) {
    const LayerInput x({backend.Upload(context, left), backend.Upload(context, right)});
    TrainAndScore(backend, context, x, samples, 1500, see);
  };
  OnTheCpu({})(train);
}

TEST(RanksTrainingTest, StepsRunOnTheThreadsOfAllRanks) {
  RunAsRanks(3, 2, [](const Context& context) {
    cpu_set_t before, after;
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    const std::shared_ptr<ThreadPool> pool = ThreadsOfAllRanks(context);
    ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after)) << "a rank stays where its launcher put it";
    ASSERT_EQ(pool != nullptr, context.ranks->leads());
    if (pool != nullptr) {
      EXPECT_EQ(pool->threads(), 6u);
    }
  });
}

TEST(RanksTest, SharesAreWholeAndOwnersKnown) {
  for (const size_t count : {1, 7, 64, 1000}) {
    for (const uint32_t size : {1u, 2u, 3u, 8u}) {
      EXPECT_EQ(ShareBegin(count, 0, size), 0u);
      EXPECT_EQ(ShareBegin(count, size, size), count);
      for (size_t at = 0; at < count; ++at) {
        const uint32_t owner = OwnerOf(at, count, size);
        EXPECT_LE(ShareBegin(count, owner, size), at);
        EXPECT_GT(ShareBegin(count, owner + 1, size), at);
      }
    }
  }
}

TEST(RanksTest, ThingsAreSharedOutAndComeBackInOrder) {
  for (const uint32_t size : {1u, 2u, 5u}) {
    RunAsRanks(size, 1, [&](const Context& context) {
      const auto things = ShareOutToAll(context, 11, [&](const Context& alone, size_t i) {
        if (alone.ranks != nullptr) throw std::runtime_error("shared work must not use the ranks");
        return std::to_string(i * i);
      });
      for (size_t i = 0; i < things.size(); ++i) {
        if (things[i] != std::to_string(i * i)) throw std::runtime_error("thing " + std::to_string(i));
      }
      Barrier(*context.ranks);
    });
  }
}

// Where ranks see one memory, a rank that is held up by its first thing leaves all others to the rest.
TEST(RanksTest, ThingsAreTakenByWhoeverIsFree) {
  constexpr size_t kThings = 12;
  std::atomic<size_t> made{0};
  const auto body = [&](const Context& context) {
    const auto make = [&](const Context&, size_t i) {
      for (int look = 0; i == 1 && made < kThings - 1 && look < 20000; ++look)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (i == 1 && made != kThings - 1) throw std::runtime_error("others wait for the slowest rank");
      ++made;
      return std::to_string(i);
    };
    const auto things = ShareOutToAll(context, kThings, make);
    for (size_t i = 0; i < kThings; ++i) {
      if (things[i] != std::to_string(i)) throw std::runtime_error("a thing is missing");
    }
  };
  RunAsRanks(3, 1, body, "memory");
  EXPECT_EQ(made, kThings);
}

// A block is used again once every rank has given it back, also for a somewhat larger matrix, and not before.
TEST(RanksTest, SharedMemoryIsUsedAgainWhenAllHaveGivenItBack) {
  constexpr size_t kBytes = 1 << 20;
  for (const uint32_t size : {2u, 5u}) {
    RunAsRanks(size, 1, [&](const Context& context) {
      SharedPool pool(context.ranks);
      const auto require = [](bool holds, const char* what) {
        if (!holds) throw std::runtime_error(what);
      };
      std::shared_ptr<void> first = pool.Take(kBytes);
      void* const start = first.get();
      std::shared_ptr<void> late;
      if (context.ranks->rank() == 1) late = first;
      first.reset();
      const std::shared_ptr<void> second = pool.Take(kBytes);
      require(second.get() != start, "used again while a rank still has it");
      late.reset();
      require(pool.Take(kBytes + kBytes / 2).get() == start, "not used again");
      require(pool.Take(8 * kBytes).get() != start, "too small");
      char* const shared = static_cast<char*>(second.get());
      PopulateShared(context, shared + 100 * context.ranks->rank() + 1, 100);
      shared[context.ranks->rank()] = static_cast<char>(1 + context.ranks->rank());
      Barrier(*context.ranks);
      for (uint32_t r = 0; r < size; ++r) require(shared[r] == static_cast<char>(1 + r), "not seen by all");
      Barrier(*context.ranks);
    });
  }
}

// Pages that ranks ask for, huge or small, are all there, seen by every rank, and hold what was written before.
TEST(RanksTest, PagesAskedForAreThereAndKeepWhatTheyHold) {
  constexpr size_t kBytes = (size_t{9} << 20) + 12345, kSmallPage = 4096;
  RunAsRanks(2, 1, [&](const Context& context) {
    const std::shared_ptr<void> memory = MapTogether(*context.ranks, kBytes);
    char* const shared = static_cast<char*>(memory.get());
    const uint32_t rank = context.ranks->rank();
    const size_t middle = kBytes / 2 + 1;  // in the midst of a page of either kind
    if (rank == 1) shared[middle + 7] = shared[kBytes - 1] = 'b';
    Barrier(*context.ranks);
    PopulateShared(context, rank == 0 ? shared : shared + middle, rank == 0 ? middle : kBytes - middle);
    shared[rank == 0 ? middle - 1 : middle] = 'a';
    Barrier(*context.ranks);
    std::vector<unsigned char> resident((kBytes + kSmallPage - 1) / kSmallPage);
    const bool told = mincore(shared, kBytes, resident.data()) == 0;
    const auto missing =
        std::count_if(resident.begin(), resident.end(), [](unsigned char page) { return (page & 1) == 0; });
    const std::string around(shared + middle - 2, 10);
    Barrier(*context.ranks);
    if (!told || missing > 0) throw std::runtime_error(std::to_string(missing) + " pages are missing");
    if (around != std::string("\0aa\0\0\0\0\0\0b", 10) || shared[kBytes - 1] != 'b')
      throw std::runtime_error("pages hold something else");
  });
}

// What four ranks send each other while they aggregate.
constexpr uint32_t kFour = 4, kRows = 400, kCols = 256;
uint64_t SentInAnAggregation(const std::string& exchange) {
  std::vector<uint64_t> sent(kFour);
  const auto aggregate = [&](const Context& context) {
    const auto backend = MakeBackend(context, {});
    const Propagation a = MakePropagation(context, SomeGraph(kRows, kRows), Adjacency::kSym);
    const TensorPtr x = backend->Upload(context, Features::Dense(RandomMatrix(kRows, kCols, 1)));
    const DeviceGraphPtr graph = backend->Upload(context, a);
    const uint64_t before = context.ranks->sent_bytes();
    backend->Aggregate(context, *graph, *x, {});
    sent[context.ranks->rank()] = context.ranks->sent_bytes() - before;
  };
  RunAsRanks(kFour, 1, aggregate, exchange);
  return std::accumulate(sent.begin(), sent.end(), uint64_t{0});
}

// What is counted is what the transposes must move: 2·N·F·b·(R−1)/R over all ranks, panels padded to vectors.
TEST(RanksTest, AnAggregationByMessagesMovesTwoTransposes) {
  EXPECT_EQ(SentInAnAggregation("messages"), 2ull * kRows * kCols * sizeof(float) * (kFour - 1) / kFour);
}

// Ranks meet a few times, and that is all.
TEST(RanksTest, AnAggregationInSharedMemoryMovesNothing) { EXPECT_LT(SentInAnAggregation("memory"), 1000u); }

}  // namespace
}  // namespace l2gcn
