// Rows that lead to some rows of the last layer, against a walk written down directly.
#include "graph/needed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "core/disk_memory.h"
#include "core/rng.h"
#include "data/fixtures.h"
#include "graph/normalise.h"

namespace l2gcn {
namespace {

constexpr uint32_t kNodes = 20000;

// Two or three neighbours a node, close by; node 77 has thousands.
Graph ChainWithHub(bool weighted) {
  const RandomStream stream(5, RandomUse::kGenerator, 90);
  Graph graph;
  graph.nodes = kNodes;
  std::vector<uint64_t> indptr = {0};
  std::vector<uint32_t> indices;
  std::vector<float> weights;
  for (uint32_t i = 0; i < kNodes; ++i) {
    std::set<uint32_t> near;
    for (uint32_t draw = 0; draw < 3; ++draw)
      near.insert((i + 1 + static_cast<uint32_t>(stream.Below(4 * i + draw, 40))) % kNodes);
    for (uint32_t j = 0; i == 77 && j < 6000; ++j) near.insert(j);
    near.erase(i);
    indices.insert(indices.end(), near.begin(), near.end());
    indptr.push_back(indices.size());
  }
  for (size_t e = 0; e < indices.size(); ++e) weights.push_back(0.5f + stream.Uniform(1000000 + e));
  graph.indptr = Array<uint64_t>::CopyOf(indptr);
  graph.indices = Array<uint32_t>::CopyOf(indices);
  if (weighted) graph.weights = Array<float>::CopyOf(weights);
  return graph;
}

std::vector<uint32_t> EveryHundredth() {
  std::vector<uint32_t> nodes;
  for (uint32_t node = 3; node < kNodes; node += 100) nodes.push_back(node);
  return nodes;
}

// `nodes` and their neighbours, ascending.
std::vector<uint32_t> WithNeighbours(const Propagation& a, const std::vector<uint32_t>& nodes) {
  std::set<uint32_t> all(nodes.begin(), nodes.end());
  for (const uint32_t node : nodes) {
    for (uint64_t e = a.indptr[node]; e < a.indptr[node + 1]; ++e) all.insert(a.indices[e]);
  }
  return {all.begin(), all.end()};
}

// Every row of `rows` is that of its node in `a`, with columns as numbers of `inputs` (empty: of nodes).
void ExpectRowsOf(const Propagation& a, const NeededRows& rows, const std::vector<uint32_t>& inputs) {
  const auto node_of = [&](uint32_t column) { return inputs.empty() ? column : inputs.at(column); };
  ASSERT_EQ(rows.a.nodes, rows.nodes.size());
  for (uint32_t r = 0; r < rows.a.nodes; ++r) {
    const uint32_t node = rows.nodes[r];
    EXPECT_EQ(node_of(rows.a.own[r]), node);
    EXPECT_EQ(rows.a.row_scale[r], a.row_scale[node]);
    EXPECT_EQ(rows.a.self_scale[r], a.self_scale[node]);
    ASSERT_EQ(rows.a.indptr[r + 1] - rows.a.indptr[r], a.indptr[node + 1] - a.indptr[node]);
    for (uint64_t e = rows.a.indptr[r], from = a.indptr[node]; e < rows.a.indptr[r + 1]; ++e, ++from) {
      const uint32_t column = rows.a.indices[e];
      ASSERT_EQ(node_of(column), a.indices[from]);
      if (!a.weights.empty()) {
        ASSERT_EQ(rows.a.weights[e], a.weights[from]);
      }
      if (!a.col_scale.empty()) {
        ASSERT_EQ(rows.a.col_scale[column], a.col_scale[a.indices[from]]);
      }
    }
  }
}

TEST(NeededRowsTest, EveryLayerHasWhatTheNextOneReads) {
  TemporaryFolder folder;
  Context from_disk = MakeContext(2);
  from_disk.disk = std::make_shared<DiskMemory>(uint64_t{1} << 30, folder.path());
  Context with_little = MakeContext(6);  // more threads than copy rows
  with_little.disk = std::make_shared<DiskMemory>(uint64_t{128} << 20, folder.path());
  for (const Context& context : {MakeContext(3), from_disk, with_little}) {
    for (const bool weighted : {false, true}) {
      const Propagation a =
          MakePropagation(context, ChainWithHub(weighted), weighted ? Adjacency::kSym : Adjacency::kRowPlusI);
      const std::vector<uint32_t> last = EveryHundredth(), middle = WithNeighbours(a, last),
                                  first = WithNeighbours(a, middle);
      const std::vector<NeededRows> needed = FindNeededRows(context, a, last, 3);
      ASSERT_EQ(needed.size(), 3u);
      EXPECT_TRUE(std::ranges::equal(needed[2].nodes, last));
      EXPECT_TRUE(std::ranges::equal(needed[1].nodes, middle));
      EXPECT_TRUE(std::ranges::equal(needed[0].nodes, first));
      ExpectRowsOf(a, needed[2], middle);
      ExpectRowsOf(a, needed[1], first);
      ExpectRowsOf(a, needed[0], {});
    }
  }
}

// Longer than what is read in one go.
TEST(NeededRowsTest, ARowMayBeLong) {
  TemporaryFolder folder;
  Context context = MakeContext(2);
  context.disk = std::make_shared<DiskMemory>(uint64_t{1} << 30, folder.path());
  constexpr uint32_t kHub = 4, kMany = 600000, kEntries = 300000;
  Graph graph;
  graph.nodes = kMany;
  std::vector<uint64_t> indptr(kMany + 1, kEntries);
  std::fill(indptr.begin(), indptr.begin() + kHub + 1, 0);
  indptr.back() = 2 * kEntries;  // the last row has as many entries as the hub
  graph.indptr = Array<uint64_t>::CopyOf(indptr);
  graph.indices = context.disk->NewArray<uint32_t>(2 * kEntries);
  for (uint32_t e = 0; e < 2 * kEntries; ++e) graph.indices.mutable_data()[e] = 2 * (e % kEntries) + 1;
  const Propagation a = MakePropagation(context, graph, Adjacency::kRow);
  const std::vector<NeededRows> needed = FindNeededRows(context, a, {2, kHub, 9}, 1);
  ASSERT_EQ(needed.front().nodes.size(), 3u);
  ExpectRowsOf(a, needed.front(), {});
}

TEST(NeededRowsTest, LayersThatNeedMostRowsHaveAll) {
  const Context context = MakeContext(2);
  const Propagation a = MakePropagation(context, ChainWithHub(false), Adjacency::kRow);
  std::vector<uint32_t> last;
  for (uint32_t node = 0; node < kNodes; node += 4) last.push_back(node);
  const std::vector<NeededRows> needed = FindNeededRows(context, a, last, 3);
  EXPECT_EQ(needed[2].nodes.size(), last.size());
  EXPECT_TRUE(needed[1].nodes.empty());
  EXPECT_TRUE(needed[0].nodes.empty());
  ExpectRowsOf(a, needed[2], {});
  std::vector<uint32_t> all(kNodes);
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_TRUE(FindNeededRows(context, a, all, 1).front().nodes.empty());
}

TEST(NeededRowsTest, TheFirstLayersMayBeLeftWhole) {
  const Context context = MakeContext(1);
  const Propagation a = MakePropagation(context, ChainWithHub(false), Adjacency::kRow);
  const std::vector<NeededRows> needed = FindNeededRows(context, a, EveryHundredth(), 2, 1);
  EXPECT_FALSE(needed[1].nodes.empty());
  EXPECT_TRUE(needed[0].nodes.empty());
  ExpectRowsOf(a, needed[1], {});
}

}  // namespace
}  // namespace l2gcn
