#include "graph/build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "core/rng.h"
#include "l2gcn/error.h"

namespace l2gcn {
namespace {

using Edges = std::vector<std::pair<uint32_t, uint32_t>>;

struct EdgeArrays {
  std::vector<uint32_t> source, target;
  std::vector<float> weights;
};

EdgeArrays RandomEdges(uint32_t nodes, size_t count, uint64_t seed) {
  EdgeArrays edges;
  const RandomStream stream(seed, RandomUse::kGenerator);
  for (size_t e = 0; e < count; ++e) {
    edges.source.push_back(static_cast<uint32_t>(stream.Below(3 * e, nodes)));
    edges.target.push_back(static_cast<uint32_t>(stream.Below(3 * e + 1, nodes)));
    edges.weights.push_back(static_cast<float>(1 + stream.Below(3 * e + 2, 9)));
  }
  return edges;
}

// The same result by sets and maps: what a Graph must hold.
struct Expected {
  std::map<std::pair<uint32_t, uint32_t>, float> entries;
  Graph::Changes changes;
};

Expected Naive(const EdgeArrays& edges, bool directed, bool keep_loops) {
  Expected expected;
  std::set<std::pair<uint32_t, uint32_t>> stored;
  const auto put = [&](uint32_t u, uint32_t v, float w) {
    const auto [at, fresh] = expected.entries.emplace(std::pair(u, v), w);
    if (!fresh) at->second = std::max(at->second, w);
  };
  for (size_t e = 0; e < edges.source.size(); ++e) {
    const uint32_t u = edges.source[e], v = edges.target[e];
    ++expected.changes.entries_read;
    if (u == v) ++expected.changes.self_loops_found;
    if (u == v && !keep_loops) {
      ++expected.changes.self_loops_dropped;
      continue;
    }
    if (!stored.emplace(u, v).second) ++expected.changes.duplicates_dropped;
    put(u, v, edges.weights[e]);
    if (!directed) put(v, u, edges.weights[e]);
  }
  expected.changes.reverses_added = expected.entries.size() - stored.size();
  return expected;
}

void ExpectSame(const BuiltGraph& built, const Expected& expected, bool weighted) {
  ASSERT_EQ(built.graph.entries(), expected.entries.size());
  auto at = expected.entries.begin();
  for (uint32_t u = 0; u < built.graph.nodes; ++u) {
    for (uint64_t e = built.graph.indptr[u]; e < built.graph.indptr[u + 1]; ++e, ++at) {
      ASSERT_EQ(at->first, std::pair(u, built.graph.indices[e]));
      if (weighted) {
        ASSERT_EQ(at->second, built.graph.weights[e]);
      }
    }
  }
  EXPECT_EQ(built.changes.entries_read, expected.changes.entries_read);
  EXPECT_EQ(built.changes.reverses_added, expected.changes.reverses_added);
  EXPECT_EQ(built.changes.duplicates_dropped, expected.changes.duplicates_dropped);
  EXPECT_EQ(built.changes.self_loops_found, expected.changes.self_loops_found);
  EXPECT_EQ(built.changes.self_loops_dropped, expected.changes.self_loops_dropped);
  std::set<std::pair<uint32_t, uint32_t>> pairs;
  for (const auto& [edge, weight] : expected.entries) {
    if (edge.first != edge.second)
      pairs.emplace(std::min(edge.first, edge.second), std::max(edge.first, edge.second));
  }
  EXPECT_EQ(built.edges, pairs.size());
}

TEST(BuildGraph, AgreesWithSetsForEveryOptionAndThreadCount) {
  for (const uint32_t nodes : {1u, 7u, 300u, 9000u}) {
    const EdgeArrays edges = RandomEdges(nodes, 5 * size_t{nodes} + 3, nodes);
    for (const bool directed : {false, true}) {
      for (const bool keep_loops : {false, true}) {
        const Expected expected = Naive(edges, directed, keep_loops);
        for (const uint32_t threads : {1u, 3u}) {
          const Context context = MakeContext(threads);
          const BuildOptions options{directed, keep_loops, "test"};
          ExpectSame(BuildGraph(context, nodes, edges.source, edges.target, edges.weights, options), expected,
                     true);
          ExpectSame(BuildGraph(context, nodes, edges.source, edges.target, {}, options), expected, false);
        }
      }
    }
  }
}

TEST(BuildGraph, CompressedRowsGiveTheSame) {
  constexpr uint32_t kNodes = 500;
  const EdgeArrays edges = RandomEdges(kNodes, 4000, 3);
  std::vector<size_t> order(edges.source.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return edges.source[a] < edges.source[b]; });
  std::vector<uint64_t> indptr(kNodes + 1, 0);
  std::vector<uint32_t> indices;
  std::vector<float> weights;
  for (const size_t e : order) {
    ++indptr[edges.source[e] + 1];
    indices.push_back(edges.target[e]);
    weights.push_back(edges.weights[e]);
  }
  std::partial_sum(indptr.begin(), indptr.end(), indptr.begin());
  const Context context = MakeContext(2);
  ExpectSame(BuildGraphFromCsr(context, kNodes, indptr, indices, weights, {false, false, "csr"}),
             Naive(edges, false, false), true);
  indptr[1] = 5000;
  EXPECT_THROW(BuildGraphFromCsr(context, kNodes, indptr, indices, weights, {}), Error);
}

TEST(BuildGraph, NamesTheFirstEdgeOutOfRange) {
  const std::vector<uint32_t> source = {0, 1, 2, 9}, target = {1, 2, 7, 0};
  try {
    BuildGraph(MakeContext(2), 3, source, target, {}, {false, false, "edges.csv"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_NE(std::string(error.what()).find("edges.csv: edge 2 joins nodes 2 and 7"), std::string::npos)
        << error.what();
  }
}

TEST(BuildGraph, NoNodesAndNoEdges) {
  EXPECT_EQ(BuildGraph(MakeContext(1), 0, {}, {}, {}, {}).graph.indptr.size(), 1u);
  const BuiltGraph isolated = BuildGraph(MakeContext(1), 4, {}, {}, {}, {});
  EXPECT_EQ(isolated.graph.indptr[4], 0u);
  EXPECT_EQ(isolated.edges, 0u);
}

TEST(InducedSubgraph, KeepsTheEdgesAmongTheChosenInTheirNewOrder) {
  const EdgeArrays edges = RandomEdges(60, 400, 8);
  const Context context = MakeContext(2);
  const Graph graph = BuildGraph(context, 60, edges.source, edges.target, edges.weights, {}).graph;
  const std::vector<uint32_t> chosen = {30, 2, 59, 11, 3, 17, 44};
  const Graph sub = InducedSubgraph(context, graph, chosen);
  ASSERT_EQ(sub.nodes, chosen.size());
  for (uint32_t a = 0; a < chosen.size(); ++a) {
    std::map<uint32_t, float> expected;
    for (uint64_t e = graph.indptr[chosen[a]]; e < graph.indptr[chosen[a] + 1]; ++e) {
      const auto found = std::find(chosen.begin(), chosen.end(), graph.indices[e]);
      if (found != chosen.end()) expected[static_cast<uint32_t>(found - chosen.begin())] = graph.weights[e];
    }
    ASSERT_EQ(sub.degree(a), expected.size());
    uint64_t e = sub.indptr[a];
    for (const auto& [neighbour, weight] : expected) {
      EXPECT_EQ(sub.indices[e], neighbour);
      EXPECT_EQ(sub.weights[e++], weight);
    }
  }
}

}  // namespace
}  // namespace l2gcn
