// Theorems 5 and 6 of the paper, measured: how many graphs can be told apart by colour refinement, and by
// networks that are trained layer by layer or from end to end.
//
// All graphs of 2 … 8 nodes are enumerated up to isomorphism. Colour refinement is exact (integers). Networks
// compute in float64; two nodes count as equal where their embeddings agree within a tolerance. Every number
// is the same for any thread count.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "l2gcn/context.h"
#include "l2gcn/reproduce.h"

namespace l2gcn {

// Two graphs that one way tells apart and another does not, in graph6 (nauty's text form).
using GraphPair = std::pair<std::string, std::string>;

// Networks of one kind on one set of graphs.
struct CapacityNetworks {
  std::string training;   // "layer-wise" | "end-to-end"
  std::string features;   // "constant" | "degree" (one-hot)
  std::string operation;  // "sum" A+I | "row" D⁻¹(A+I) | "row+i" D⁻¹(A+I)+I
  uint32_t width = 0;
  std::vector<std::vector<uint64_t>> classes;  // (seeds × layers) classes told apart
  bool matches_refinement =
      true;                    // every seed and depth tells apart what exact refinement by this operator does
  bool monotone = true;        // no seed tells apart fewer with one more layer
  bool tolerance_free = true;  // a tolerance 100 times larger or smaller gives the same counts
  std::vector<GraphPair> missed;  // pairs that refinement tells apart at full depth, and a seed does not
};

// Exact refinement: classes after 1, 2, … rounds, until a round brings nothing new.
struct CapacityRefinement {
  std::string features;
  std::string operation;  // "own+neighbours": colour refinement itself; else what an operator can see
  std::vector<uint64_t> classes;
  uint32_t confused_at = 0;         // first round that tells fewer apart than colour refinement; 0: none
  std::vector<GraphPair> confused;  // some of what it confuses there
};

struct CapacitySet {
  std::string name;  // "n=8", "regular 12 nodes, degree 3", "CFI of K4"
  uint32_t nodes = 0;
  uint64_t graphs = 0;  // pairwise not isomorphic
  bool enumerated = false;
  std::vector<CapacityRefinement> refinements;
  std::vector<CapacityNetworks> networks;
};

struct CapacityResult {
  ReproduceOptions::Theorems options;
  uint64_t seed = 0;
  std::vector<CapacitySet> sets;
  double seconds = 0;
};

// Throws Error(kUsage) for options out of range.
CapacityResult MeasureCapacity(const Context& context, const ReproduceOptions::Theorems& options);

std::string CapacityToText(const CapacityResult& result);
std::string CapacityToJson(const CapacityResult& result);

}  // namespace l2gcn
