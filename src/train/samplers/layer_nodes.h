// A layer's sources drawn as one set for all destinations (FastGCN, LADIES): draws with replacement, and the
// block between destinations and the distinct nodes drawn.
#pragma once

#include <cstdint>
#include <vector>

#include "core/rng.h"
#include "train/samplers/common.h"

namespace l2gcn {

// The importance weights of drawn nodes: Â(v, u) is multiplied by factor[u], which is 0 where u was not drawn. Stored for all
// nodes, so that a destination's row takes one lookup per edge.
class DrawnNodes {
 public:
  explicit DrawnNodes(uint32_t nodes) : factor_(nodes, 0.0f), index_(nodes) {}
  // Empties the set and starts the list of sources with `first`.
  void Begin(const std::vector<uint32_t>& first, std::vector<uint32_t>& sources);
  // Adds `count` independent draws from the distribution whose cumulative weights are `cumulative`; its
  // entry i stands for nodes[i] (empty: for node i). A node drawn `times` times has factor times / (count ·
  // q).
  void Draw(const std::vector<double>& cumulative, const std::vector<uint32_t>& nodes, uint32_t count,
            const RandomStream& stream, std::vector<uint32_t>& sources);
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
