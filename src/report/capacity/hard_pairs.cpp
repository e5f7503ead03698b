// Graphs that colour refinement cannot tell apart although they are not isomorphic: regular graphs of one
// degree, and the pairs of Cai, Fürer and Immerman.
#include <algorithm>

#include "core/error_format.h"
#include "core/rng.h"
#include "report/capacity/small_graph.h"

namespace l2gcn::capacity {
namespace {

constexpr uint32_t kTriesPerGraph = 10000;

bool IsConnected(const SmallGraph& graph) {
  uint64_t reached = 1, before = 0;
  while (reached != before) {
    before = reached;
    for (uint64_t left = reached; left != 0; left &= left - 1) {
      reached |= graph.rows[static_cast<uint32_t>(std::countr_zero(left))];
    }
  }
  return static_cast<uint32_t>(std::popcount(reached)) == graph.nodes;
}

// Half-edges paired at random; false where a pair is a loop or repeats an edge.
bool PairUp(uint32_t nodes, uint32_t degree, const RandomStream& random, uint64_t& drawn, SmallGraph& graph) {
  graph = {};
  graph.nodes = nodes;
  std::vector<uint32_t> halves;
  for (uint32_t i = 0; i < nodes * degree; ++i) halves.push_back(i / degree);
  for (size_t i = halves.size(); i > 1; --i) std::swap(halves[i - 1], halves[random.Below(drawn++, i)]);
  for (size_t i = 0; i < halves.size(); i += 2) {
    if (halves[i] == halves[i + 1] || graph.HasEdge(halves[i], halves[i + 1])) return false;
    graph.AddEdge(halves[i], halves[i + 1]);
  }
  return true;
}

// Edges of a graph that end in `node`, as bits of the list of all edges.
uint64_t EdgesOf(const std::vector<std::pair<uint32_t, uint32_t>>& edges, uint32_t node) {
  uint64_t bits = 0;
  for (size_t e = 0; e < edges.size(); ++e) {
    if (edges[e].first == node || edges[e].second == node) bits |= uint64_t{1} << e;
  }
  return bits;
}

}  // namespace

std::vector<SmallGraph> RandomRegularGraphs(uint32_t nodes, uint32_t degree, uint32_t count, uint64_t seed) {
  const RandomStream random(seed, RandomUse::kGenerator, nodes, degree);
  std::vector<SmallGraph> graphs;
  uint64_t drawn = 0;
  for (uint32_t tries = 0; graphs.size() < count && tries < kTriesPerGraph * count; ++tries) {
    SmallGraph graph;
    if (!PairUp(nodes, degree, random, drawn, graph) || !IsConnected(graph)) continue;
    graph = CanonicalForm(graph);
    if (std::find(graphs.begin(), graphs.end(), graph) == graphs.end()) graphs.push_back(graph);
  }
  return graphs;
}

std::vector<SmallGraph> CfiPair(const SmallGraph& base) {
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t j = 1; j < base.nodes; ++j) {
    for (uint32_t i = 0; i < j; ++i) {
      if (base.HasEdge(i, j)) edges.emplace_back(i, j);
    }
  }
  std::vector<std::pair<uint32_t, uint64_t>> members;  // (base node, even set of its edges)
  for (uint32_t v = 0; v < base.nodes; ++v) {
    const uint64_t mine = EdgesOf(edges, v);
    uint64_t subset = 0;
    do {
      if (std::popcount(subset) % 2 == 0) members.emplace_back(v, subset);
      subset = (subset - mine) & mine;  // the next subset of `mine`
    } while (subset != 0);
  }
  L2GCN_ASSERT(members.size() <= kMostNodes);
  std::vector<SmallGraph> pair(2);
  for (uint32_t twisted = 0; twisted < 2; ++twisted) {
    pair[twisted].nodes = static_cast<uint32_t>(members.size());
    for (size_t e = 0; e < edges.size(); ++e) {
      for (uint32_t a = 0; a < members.size(); ++a) {
        for (uint32_t b = 0; b < members.size(); ++b) {
          if (members[a].first != edges[e].first || members[b].first != edges[e].second) continue;
          const bool differ = ((members[a].second ^ members[b].second) >> e & 1) != 0;
          if (differ == (twisted == 1 && e == 0)) pair[twisted].AddEdge(a, b);
        }
      }
    }
  }
  return pair;
}

}  // namespace l2gcn::capacity
