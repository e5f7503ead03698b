#include "data/edge_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <span>
#include <vector>

#include "core/error_format.h"
#include "core/rng.h"
#include "data/fixtures.h"
#include "data/native_store.h"
#include "data/npy.h"
#include "data/samples.h"

namespace l2gcn {
namespace {

struct RandomEdges {
  std::vector<uint32_t> source, target;
  std::vector<float> weights;
};

// Repeats, self loops and both directions occur.
RandomEdges DrawEdges(size_t count, uint32_t nodes) {
  const RandomStream stream(8, RandomUse::kGenerator);
  RandomEdges edges;
  for (size_t i = 0; i < count; ++i) {
    edges.source.push_back(static_cast<uint32_t>(stream.Below(3 * i, nodes)));
    edges.target.push_back(static_cast<uint32_t>(stream.Below(3 * i + 1, nodes)));
    edges.weights.push_back(static_cast<float>(stream.Below(3 * i + 2, 5)) + 1);
  }
  return edges;
}

template <class T>
Array<T> ReadColumn(const std::filesystem::path& path) {
  return NpyArray::Open(path).As<T>(MakeContext(1));
}

// The graph in memory is the oracle: entry for entry, with the counts.
TEST(EdgeSorter, WritesTheGraphThatMemoryBuilds) {
  constexpr uint32_t kNodes = 300;
  const RandomEdges edges = DrawEdges(6000, kNodes);
  for (const bool directed : {false, true}) {
    for (const bool keep_self_loops : {false, true}) {
      for (const bool weighted : {false, true}) {
        for (const uint64_t memory : {uint64_t{1} << 16, uint64_t{1} << 24}) {  // many runs, one run
          const Context context = MakeContext(2);
          TemporaryFolder folder;
          const auto sorter =
              EdgeSorter::Make(context, {directed, keep_self_loops, weighted, memory, folder.path(), {}});
          for (size_t i = 0; i < edges.source.size(); i += 100) {  // in batches, by both workers
            const auto part = [&](const auto& column) { return std::span(column).subspan(i, 100); };
            sorter->Add(i / 100 % 2, part(edges.source), part(edges.target),
                        weighted ? part(edges.weights) : std::span<const float>());
          }
          sorter->Flush();
          const SortedEdges sorted = sorter->Finish(kNodes, {});
          const BuiltGraph built =
              BuildGraph(context, kNodes, edges.source, edges.target,
                         weighted ? std::span<const float>(edges.weights) : std::span<const float>(),
                         {directed, keep_self_loops, "test"});
          ExpectSameArray(ReadColumn<uint64_t>(folder.path() / kGraphIndptrFile), built.graph.indptr,
                          "indptr");
          ExpectSameArray(ReadColumn<uint32_t>(folder.path() / kGraphIndicesFile), built.graph.indices,
                          "indices");
          EXPECT_EQ(std::filesystem::exists(folder.path() / kGraphWeightsFile), weighted);
          if (weighted) {
            ExpectSameArray(ReadColumn<float>(folder.path() / kGraphWeightsFile), built.graph.weights,
                            "weights");
          }
          EXPECT_EQ(sorted.entries, built.graph.entries());
          EXPECT_EQ(sorted.edges, built.edges);
          EXPECT_EQ(sorted.self_loops, built.self_loops);
          EXPECT_EQ(sorted.changes.entries_read, built.changes.entries_read);
          EXPECT_EQ(sorted.changes.duplicates_dropped, built.changes.duplicates_dropped);
          EXPECT_EQ(sorted.changes.self_loops_dropped, built.changes.self_loops_dropped);
          EXPECT_EQ(sorted.changes.reverses_added, built.changes.reverses_added);
          size_t files = 0;
          for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
            files += entry.path().extension() == ".npy" ? 0 : 1;
          }
          EXPECT_EQ(files, 0u) << "runs were left behind";
        }
      }
    }
  }
}

TEST(EdgeSorter, KeysAreNumberedAnewWhileTheyAreWritten) {
  const Context context = MakeContext(1);
  TemporaryFolder folder;
  const auto sorter = EdgeSorter::Make(context, {false, false, false, uint64_t{1} << 20, folder.path(), {}});
  sorter->Add(0, std::vector<uint32_t>{10, 30}, std::vector<uint32_t>{30, 20}, {});
  sorter->Flush();
  sorter->Finish(3, [](std::span<uint32_t> keys) {
    for (uint32_t& key : keys) key = key / 10 - 1;
  });
  ExpectSameArray(ReadColumn<uint64_t>(folder.path() / kGraphIndptrFile), ArrayOf<uint64_t>({0, 1, 2, 4}),
                  "indptr");
  ExpectSameArray(ReadColumn<uint32_t>(folder.path() / kGraphIndicesFile), ArrayOf<uint32_t>({2, 2, 0, 1}),
                  "indices");
}

// A run that is written in several pieces, with one row that is longer than a piece.
TEST(EdgeSorter, TellsAllNodesAndKeepsLongRowsWhole) {
  constexpr uint32_t kLeaves = 60'000;
  const Context context = MakeContext(2);
  TemporaryFolder folder;
  std::vector<uint8_t> told(kLeaves + 2, 0);
  std::mutex mutex;
  const auto sorter = EdgeSorter::Make(
      context, {false, false, false, uint64_t{1} << 21, folder.path(), [&](std::span<const uint32_t> nodes) {
                  const std::lock_guard<std::mutex> lock(mutex);
                  EXPECT_TRUE(std::is_sorted(nodes.begin(), nodes.end()));
                  for (const uint32_t node : nodes) told[node] = 1;
                }});
  // A star, every edge twice, from either end; its last leaf has a loop alone.
  std::vector<uint32_t> hub(kLeaves, 0), leaves(kLeaves);
  for (uint32_t k = 0; k < kLeaves; ++k) leaves[k] = kLeaves - k;
  sorter->Add(0, hub, leaves, {});
  sorter->Add(1, leaves, hub, {});
  sorter->Add(1, std::vector<uint32_t>{kLeaves + 1}, std::vector<uint32_t>{kLeaves + 1}, {});
  sorter->Flush();
  EXPECT_EQ(std::count(told.begin(), told.end(), 1), kLeaves + 2);
  const SortedEdges sorted = sorter->Finish(kLeaves + 2, {});
  EXPECT_EQ(sorted.edges, kLeaves);
  EXPECT_EQ(sorted.self_loops, 1u);
  const Array<uint64_t> indptr = ReadColumn<uint64_t>(folder.path() / kGraphIndptrFile);
  const Array<uint32_t> indices = ReadColumn<uint32_t>(folder.path() / kGraphIndicesFile);
  ASSERT_EQ(indices.size(), 2 * kLeaves);
  EXPECT_EQ(indptr.span()[1], kLeaves);
  for (uint32_t k = 0; k < kLeaves; ++k) {
    ASSERT_EQ(indices.span()[k], k + 1);
    ASSERT_EQ(indices.span()[kLeaves + k], 0u);
  }
}

// A worker that fails while others wait for their turn lets them go.
TEST(EdgeSorter, AFailureWhileMergingEndsTheMerge) {
  const Context context = MakeContext(2);
  TemporaryFolder folder;
  const auto sorter = EdgeSorter::Make(context, {true, false, false, uint64_t{1} << 26, folder.path(), {}});
  std::vector<uint32_t> sources(3'000'000), targets(3'000'000);
  for (uint32_t k = 0; k < sources.size(); ++k) {
    sources[k] = k;
    targets[k] = k / 2;
  }
  sorter->Add(0, sources, targets, {});
  sorter->Flush();
  EXPECT_THROW(sorter->Finish(3'000'000, [](std::span<uint32_t>) { ThrowRuntime("no"); }), Error);
}

}  // namespace
}  // namespace l2gcn
