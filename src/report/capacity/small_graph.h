// Graphs of at most 64 nodes as bit rows: canonical forms, all graphs of n nodes, and pairs that are hard to
// tell apart.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "l2gcn/context.h"

namespace l2gcn::capacity {

inline constexpr uint32_t kMostNodes = 64;

struct SmallGraph {
  uint32_t nodes = 0;
  std::array<uint64_t, kMostNodes> rows = {};  // bit j of row i: an edge i–j; no self loops

  bool HasEdge(uint32_t a, uint32_t b) const { return (rows[a] >> b & 1) != 0; }
  void AddEdge(uint32_t a, uint32_t b) {
    rows[a] |= uint64_t{1} << b;
    rows[b] |= uint64_t{1} << a;
  }
  uint32_t Degree(uint32_t node) const { return static_cast<uint32_t>(std::popcount(rows[node])); }
  bool operator==(const SmallGraph&) const = default;
};

// The same graph for all graphs isomorphic to `graph`, found by individualisation and refinement: the
// smallest relabelled adjacency over all leaves of the search tree. Nodes that an exchange maps onto each
// other (twins) are tried once.
SmallGraph CanonicalForm(const SmallGraph& graph);

// One graph of each isomorphism class of n ≤ 8 nodes, in the same order for any thread count: every graph of
// n − 1 nodes gets one more node with every possible neighbourhood; canonical forms that repeat are dropped.
std::vector<SmallGraph> AllGraphs(const Context& context, uint32_t n);

// Random connected regular graphs, pairwise not isomorphic, by the pairing model. Fewer than `count` where
// many tries bring no new one.
std::vector<SmallGraph> RandomRegularGraphs(uint32_t nodes, uint32_t degree, uint32_t count, uint64_t seed);

// The two graphs of Cai, Fürer and Immerman over a cubic base graph, in the form without edge nodes: a node
// (v, S) for every base node v and even set S of its edges; (u, S) and (v, T) are joined over the edge e = uv
// if e is in both sets or in neither. The second graph has one edge twisted. They are not isomorphic.
std::vector<SmallGraph> CfiPair(const SmallGraph& base);

// nauty's graph6 text of a graph.
std::string ToGraph6(const SmallGraph& graph);

}  // namespace l2gcn::capacity
