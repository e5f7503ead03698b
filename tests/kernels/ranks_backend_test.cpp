// The backend whose matrices are shared out over ranks against the CPU backend, bit by bit. Threads stand for ranks.
#include <sched.h>

#include <mutex>
#include <numeric>

#include "core/threads.h"
#include "kernels/backend_cases.h"
#include "kernels/ranks/rank_training.h"
#include "ranks/collectives.h"
#include "ranks/shared_memory.h"
#include "ranks/thread_ranks.h"

namespace l2gcn {
namespace {

using backend_cases::FiveClassStart;
using backend_cases::FiveClassTargets;
using backend_cases::RandomMatrix;

constexpr uint32_t kRankNodes = 207;
// Of one panel, of several, and with a last one narrower than a vector.
constexpr size_t kRankWidths[] = {5, 40, 132, 300};
constexpr uint32_t kSizes[] = {2, 3, 8};

// What a rank found is compared with what one process finds; the first difference fails the test.
void ExpectSame(const Matrix& ours, const Matrix& theirs, const std::string& what) {
  static std::mutex mutex;  // a failure may be reported by one thread at a time
  const std::lock_guard<std::mutex> lock(mutex);
  ASSERT_EQ(ours.rows, theirs.rows) << what;
  ASSERT_EQ(ours.cols, theirs.cols) << what;
  for (size_t i = 0; i < ours.values.size(); ++i)
    ASSERT_EQ(ours.values[i], theirs.values[i]) << what << " " << i;
}

Graph SomeGraph(uint32_t nodes, uint32_t most, float share = 0.03f) {
  Graph graph;
  graph.nodes = nodes;
  const RandomStream stream(3, RandomUse::kGenerator, 78);
  std::vector<uint64_t> indptr = {0};
  std::vector<uint32_t> indices;
  for (uint32_t i = 0; i < nodes; ++i) {
    for (uint32_t j = 0; j < most; ++j) {
      if (i != j && stream.Uniform(uint64_t{i} * most + j) < (i == 7 ? 0.9f : share)) indices.push_back(j);
    }
    indptr.push_back(indices.size());
  }
  graph.indptr = Array<uint64_t>::CopyOf(indptr);
  graph.indices = Array<uint32_t>::CopyOf(indices);
  return graph;
}

Features SomeSparse(size_t cols, float share) {
  std::vector<uint64_t> indptr = {0};
  std::vector<uint32_t> indices;
  std::vector<float> values;
  const RandomStream stream(4, RandomUse::kGenerator, 79);
  for (uint64_t row = 0; row < kRankNodes; ++row) {
    for (uint64_t c = 0; c < cols; ++c) {
      if (stream.Uniform(row * cols + c) > share) continue;
      indices.push_back(static_cast<uint32_t>(c));
      values.push_back(stream.Uniform(row * cols + c) + 1);
    }
    indptr.push_back(indices.size());
  }
  return Features::Sparse({kRankNodes, cols, Array<uint64_t>::CopyOf(indptr),
                           Array<uint32_t>::CopyOf(indices), Array<float>::CopyOf(values)});
}

// body(backend, context, see): `see` is given results, in the same order by one process and by every rank.
using See = std::function<void(const Matrix&, const std::string&)>;
void CompareWithOne(const BackendOptions& options,
                    const std::function<void(Backend&, const Context&, const See&)>& body) {
  std::vector<Matrix> expected;
  const Context alone = MakeContext(2);
  const auto backend = MakeBackend(alone, options);
  body(*backend, alone, [&](const Matrix& seen, const std::string&) { expected.push_back(seen); });
  for (const uint32_t size : kSizes) {
    for (const std::string exchange : {"messages", "memory"}) {
      const auto run = [&](const Context& context) {
        size_t at = 0;
        const auto shared = MakeBackend(context, options);
        body(*shared, context, [&](const Matrix& seen, const std::string& what) {
          ExpectSame(expected.at(at++), seen, what + ", " + std::to_string(size) + " ranks, " + exchange);
        });
      };
      RunAsRanks(size, 1 + size % 2, run, exchange);
    }
  }
}

class RanksBackendTest : public ::testing::TestWithParam<FeatureType> {
 protected:
  BackendOptions options_ = {.features_as = GetParam()};
};

TEST_P(RanksBackendTest, EveryVerbHasTheBitsOfOneProcess) {
  CompareWithOne(options_, [](Backend& backend, const Context& context, const See& see) {
    const Propagation a = MakePropagation(context, SomeGraph(kRankNodes, kRankNodes), Norm::kSym);
    const DeviceGraphPtr graph = backend.Upload(context, a);
    const std::vector<uint32_t> rows = {200, 2, 2, 70, 206, 0};
    for (const size_t cols : kRankWidths) {
      const TensorPtr x = backend.Upload(context, Features::Dense(RandomMatrix(kRankNodes, cols, cols)));
      const TensorPtr xhat = backend.Aggregate(context, *graph, *x, {});
      see(backend.Download(context, *xhat), "aggregated");
      const Matrix w = RandomMatrix(cols, 24, 9);
      see(backend.Download(context,
                           *backend.Transform(context, *xhat, DenseBlock(w, RandomMatrix(2, 24, 10)))),
          "transformed");
      see(backend.Download(context, *backend.Forward(context, *graph, *x, w)), "forward");
      see(backend.Logits(context, *xhat, w, rows), "logits of rows");
      see(backend.Download(context, *backend.PickRows(context, *xhat, rows)), "picked");
      see(backend.Download(context, *xhat, rows), "downloaded rows");
      const TensorPtr joined = backend.Join(context, std::vector<TensorPtr>{x, xhat});
      see(backend.Download(context,
                           *backend.Transform(context, *joined, RandomMatrix(2 * cols, 17, 11), rows)),
          "joined");
    }
  });
}

TEST_P(RanksBackendTest, RowsOfASubgraph) {
  std::vector<uint32_t> nodes;
  for (uint32_t row = 1; row < kRankNodes; row += 3) nodes.push_back(row);
  const auto count = static_cast<uint32_t>(nodes.size());
  CompareWithOne(options_, [&](Backend& backend, const Context& context, const See& see) {
    const Propagation a = MakePropagation(context, SomeGraph(count, count), Norm::kRow);
    const TensorPtr x = backend.Upload(context, Features::Dense(RandomMatrix(kRankNodes, 132, 1)));
    see(backend.Download(context, *backend.Aggregate(context, *backend.Upload(context, a), *x, nodes)),
        "subgraph");
  });
}

// Many neighbours and many columns: tiles are copied before they are summed, and ranks that see one memory copy them
// together.
TEST_P(RanksBackendTest, TilesOfAFullGraph) {
  RowPreparation scaled;
  scaled.row_factor = Array<float>::CopyOf(RandomMatrix(1, kRankNodes, 6).values.span());
  const Features plain = Features::Dense(RandomMatrix(kRankNodes, 300, 1));
  for (const Features& features : {plain, plain.WithPreparation(scaled)}) {
    CompareWithOne(options_, [&](Backend& backend, const Context& context, const See& see) {
      const Propagation a = MakePropagation(context, SomeGraph(kRankNodes, kRankNodes, 0.3f), Norm::kSym);
      const DeviceGraphPtr graph = backend.Upload(context, a);
      const TensorPtr xhat = backend.Aggregate(context, *graph, *backend.Upload(context, features), {});
      see(backend.Download(context, *xhat), "aggregated");
      see(backend.Download(context, *backend.Aggregate(context, *graph, *xhat, {})), "aggregated again");
    });
  }
}

TEST_P(RanksBackendTest, SparseAndPreparedFeatures) {
  RowPreparation scaled, normalised, projected;
  const Matrix numbers = RandomMatrix(2, 40, 5);
  scaled.shift = Array<float>::CopyOf({numbers.row(0), 40});
  scaled.factor = Array<float>::CopyOf({numbers.row(1), 40});
  normalised.row_factor = Array<float>::CopyOf(RandomMatrix(1, kRankNodes, 6).values.span());
  projected.projection = RandomMatrix(40, 20, 7);
  projected.offset = Array<float>::CopyOf(RandomMatrix(1, 20, 8).values.span());
  const Features dense = Features::Dense(RandomMatrix(kRankNodes, 40, 1)), sparse = SomeSparse(40, 0.03f),
                 fuller = SomeSparse(40, 0.4f);
  for (const Features& features :
       {dense.WithPreparation(scaled), dense.WithPreparation(normalised), dense.WithPreparation(projected),
        sparse, fuller, sparse.WithPreparation(normalised), sparse.WithPreparation(projected)}) {
    CompareWithOne(options_, [&](Backend& backend, const Context& context, const See& see) {
      const Propagation a = MakePropagation(context, SomeGraph(kRankNodes, kRankNodes), Norm::kRowPlusI);
      const DeviceGraphPtr graph = backend.Upload(context, a);
      const TensorPtr x = backend.Upload(context, features);
      const TensorPtr xhat = backend.Aggregate(context, *graph, *x, {});
      see(backend.Download(context, *xhat), "aggregated");
      see(backend.Download(context, *backend.Aggregate(context, *graph, *xhat, {})), "aggregated again");
      see(backend.Download(context, *backend.Transform(context, *xhat, RandomMatrix(x->cols, 12, 9))),
          "transformed");
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Types, RanksBackendTest,
                         ::testing::Values(FeatureType::kF32, FeatureType::kF16, FeatureType::kBf16));

// ---- training -------------------------------------------------------------------------------------------------

void TrainAndScore(Backend& backend, const Context& context, const TensorPtr& x,
                   const std::vector<uint32_t>& samples, uint32_t batch, const See& see) {
  LayerSpec spec;
  spec.batch = batch;
  const auto count = static_cast<uint32_t>(samples.empty() ? x->rows : samples.size());
  auto training = backend.BeginLayer(context, x, Array<uint32_t>::CopyOf(samples), FiveClassTargets(count),
                                     spec, FiveClassStart(x->cols));
  std::vector<double> losses(2), steps;
  training->RunEpochs(context, 1, 2, losses, &steps);
  Matrix kept = Matrix::Allocate(1, losses.size() + steps.size());
  for (size_t i = 0; i < kept.cols; ++i)
    kept.values.mutable_data()[i] = static_cast<float>(i < 2 ? losses[i] : steps[i - 2]);
  see(kept, "losses");
  see(training->Read().w, "W");
  const std::vector<uint32_t> rows = {90, 5, 17, 201, 6};
  const RowScores scores = backend.Score(
      context, *training,
      *backend.PrepareScoring(context, x, Array<uint32_t>::CopyOf(rows), FiveClassTargets(5), true));
  Matrix scored = Matrix::Allocate(1, 12);
  std::copy(scores.losses.begin(), scores.losses.end(), scored.values.mutable_data());
  scored.values.mutable_data()[5] = static_cast<float>(scores.loss);
  scored.values.mutable_data()[6] = static_cast<float>(scores.true_positive);
  std::copy(scores.misses.begin(), scores.misses.end(), scored.values.mutable_data() + 7);
  see(scored, "scores");
  see(scores.margins, "margins");
}

TEST(RanksTrainingTest, FewRowsTravelWhole) {
  CompareWithOne({}, [](Backend& backend, const Context& context, const See& see) {
    const TensorPtr dense = backend.Upload(context, Features::Dense(RandomMatrix(kRankNodes, 40, 3)));
    const TensorPtr sparse = backend.Upload(context, SomeSparse(30, 0.05f));
    TrainAndScore(backend, context, dense, {}, 50, see);
    TrainAndScore(backend, context, sparse, {1, 5, 9, 100, 150, 160, 206}, 3, see);
    TrainAndScore(backend, context, backend.Join(context, std::vector<TensorPtr>{sparse, dense}), {}, 64,
                  see);
  });
}

// 64 MiB of rows are taken by windows.
TEST(RanksTrainingTest, ManyRowsTravelByWindows) {
  constexpr uint32_t kRows = 17003;
  const Features left = Features::Dense(RandomMatrix(kRows + 50, 600, 3)),
                 right = Features::Dense(RandomMatrix(kRows + 50, 400, 4));
  std::vector<uint32_t> samples(kRows);
  std::iota(samples.begin(), samples.end(), 20u);
  const auto train = [&](Backend& backend, const Context& context, const See& see) {
    const TensorPtr x = backend.Join(
        context, std::vector<TensorPtr>{backend.Upload(context, left), backend.Upload(context, right)});
    TrainAndScore(backend, context, x, samples, 1500, see);
  };
  CompareWithOne({}, train);
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

// What four ranks send each other while they aggregate.
constexpr uint32_t kFour = 4, kRows = 400, kCols = 256;
uint64_t SentInAnAggregation(const std::string& exchange) {
  std::vector<uint64_t> sent(kFour);
  const auto aggregate = [&](const Context& context) {
    const auto backend = MakeBackend(context, {});
    const Propagation a = MakePropagation(context, SomeGraph(kRows, kRows), Norm::kSym);
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
