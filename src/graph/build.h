// Builds a Graph from an edge list or unsorted compressed rows: symmetrised, without repeats, self loops dropped by
// default, neighbours ascending.
//
// Method: count, prefix sum, scatter (a counting sort by source), then sort and merge each row on its own. A
// row keeps its own entries ahead of the mirrored ones until both are sorted, so what was stored and what was
// added can be told apart without a tag. Peak memory is the scattered rows, at most twice the final graph:
// they are handed over block by block.
//
// Weights: the largest weight of repeated entries, and of the two directions of an undirected edge, is kept. (A
// sum would double every edge that is stored in both directions; the largest does not depend on the order
// either.)
//
// Guarantees: the result does not depend on the number of threads or the order of the input.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "l2gcn/context.h"
#include "l2gcn/graph.h"

namespace l2gcn {

struct BuildOptions {
  bool directed = false;  // keep directions as stored
  bool keep_self_loops = false;
  std::string where;  // file named in errors
};

struct BuiltGraph {
  Graph graph;
  Graph::Changes changes;
  uint64_t self_loops = 0;  // distinct self loops in the input, kept or not
  uint64_t edges = 0;       // undirected simple edges without self loops
};

// Edges e: source[e] → target[e]; weights is empty or has one value an edge. Throws Error(kInput) naming the
// first edge that leaves 0 … nodes−1.
BuiltGraph BuildGraph(const Context& context, uint32_t nodes, std::span<const uint32_t> source,
                      std::span<const uint32_t> target, std::span<const float> weights,
                      const BuildOptions& options);

// The same from compressed rows, which may be unsorted and repeat; indptr is (nodes + 1) and is checked.
BuiltGraph BuildGraphFromCsr(const Context& context, uint32_t nodes, std::span<const uint64_t> indptr,
                             std::span<const uint32_t> indices, std::span<const float> weights,
                             const BuildOptions& options);

// The graph among `nodes` (distinct); node nodes[k] becomes k.
Graph InducedSubgraph(const Context& context, const Graph& graph, std::span<const uint32_t> nodes);

// Pairs {u, v}, u ≠ v, joined in at least one direction.
uint64_t CountUndirectedEdges(const Context& context, const Graph& graph);

// Node numbers fit 32 bits; throws Error(kInput) naming `where` if `count` does not.
uint32_t CheckedNodeCount(uint64_t count, const std::string& where);

}  // namespace l2gcn
