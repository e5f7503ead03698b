// Exact colour refinement over a set of graphs at once, and what other operators can see, in integers.
//
// A round gives every node a new colour, a number for its signature:
//   own+neighbours   (own colour, multiset of the neighbours' colours): colour refinement (Weisfeiler, Leman)
//   sum              the multiset of its own and its neighbours' colours: what A + I sees
//   row              the distribution of those (multiplicities divided by their greatest common divisor):
//   what
//                    D⁻¹(A+I) sees
//   row+i            (own colour, that distribution): what D⁻¹(A+I) + I sees
// Refinement distinguishes two graphs if their multisets of node colours differ.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report/capacity/small_graph.h"

namespace l2gcn::capacity {

enum class Operation { kOwnAndNeighbours, kSum, kRow, kRowPlusI };
const char* NameOf(Operation operation);

// Graphs one behind the other: node v of graph g is row first[g] + v.
struct GraphSet {
  std::vector<SmallGraph> graphs;
  std::vector<uint32_t> first;       // (graphs + 1)
  std::vector<uint32_t> start;       // (rows + 1) into neighbours
  std::vector<uint32_t> neighbours;  // rows of the same set, without the node itself
  uint32_t most_nodes = 0, most_degree = 0;

  explicit GraphSet(std::vector<SmallGraph> from);
  uint32_t rows() const { return first.back(); }
  uint32_t Degree(uint32_t row) const { return start[row + 1] - start[row]; }
};

// Numbers for the keys (count × stride), equal for equal keys and ascending with them; how many there are.
struct Ranking {
  std::vector<uint32_t> rank;
  uint32_t distinct = 0;
};
Ranking RankKeys(std::span<const uint32_t> keys, size_t stride);

// Colours before the first round: all equal, or the degrees.
std::vector<uint32_t> FirstColours(const GraphSet& set, const std::string& features);
// Colours after one more round.
Ranking RefineOnce(const GraphSet& set, const std::vector<uint32_t>& colours, Operation operation);
// The class of every graph, from its multiset of node colours.
Ranking ClassesOfGraphs(const GraphSet& set, const std::vector<uint32_t>& colours);

}  // namespace l2gcn::capacity
