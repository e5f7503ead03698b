// A layer's sources drawn as one set for all destinations (FastGCN, LADIES): draws with replacement, and the
// block between destinations and the distinct nodes drawn.
#pragma once

#include <cstdint>
#include <vector>

#include "core/rng.h"
#include "train/samplers/common.h"

namespace l2gcn {

// `count` independent draws from the distribution whose cumulative weights are `cumulative`: how often each
// index came, as a list of (index, times), ascending.
std::vector<std::pair<uint32_t, uint32_t>> DrawFrom(const std::vector<double>& cumulative, uint32_t count,
                                                    const RandomStream& stream);

// What one drawn node is worth to every destination: Â(v, u) is multiplied by factor[u]; 0 where u was not
// drawn. Kept over all nodes so that a destination's row is one look-up an edge.
class DrawnNodes {
 public:
  explicit DrawnNodes(uint32_t nodes) : factor_(nodes, 0.0f), index_(nodes) {}
  // Empties the set and starts the list of sources with `first`.
  void Begin(const std::vector<uint32_t>& first, std::vector<uint32_t>& sources);
  void Add(uint32_t node, float factor, std::vector<uint32_t>& sources);
  // Rows of Â restricted to drawn columns and weighed. With `own`, the diagonal is exact and stands in every
  // row (the destinations must be the first sources); without, it counts only where the node itself was
  // drawn.
  void FillBlock(const Context& context, const Propagation& a, const std::vector<uint32_t>& rows, bool own,
                 uint32_t sources, Block& block) const;
  size_t bytes() const { return factor_.capacity() * sizeof(float) + index_.bytes(); }

 private:
  std::vector<float> factor_;  // (nodes)
  std::vector<uint32_t> drawn_;
  NodeIndex index_;
};

}  // namespace l2gcn
