// Edges of a synthetic graph, any block of rows on its own.
//
// The nodes of a connected part are cut into blocks of at most 2¹⁶ consecutive ids, the pairs of nodes into
// cells (block I, block J), I ≤ J. A cell's number of edges is a closed formula of the plan, and its edges
// are drawn from a random stream of its own until exactly that many differ. The rows of block I are the cells
// that touch I, so they can be made without looking at any other row, both directions of an edge come from
// one cell, and the sum over the cells is the number of edges asked for.
//
// Guarantees: simple, symmetric, exact count, rows ascending; the same bytes whatever block is made first.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/generator_shapes.h"

namespace l2gcn {

// How the nodes of a block of `size` take their places: positions 0 … size−1 are sorted by group and, within
// one, by falling degree; `local_of_position` shuffles them into ids.
struct BlockPattern {
  uint32_t size = 0;
  std::vector<uint32_t> group_begin;        // (groups + 1) first position of each group
  std::vector<uint16_t> group_of_position;  // (size)
  std::vector<uint16_t> local_of_position;  // (size)
  std::vector<uint16_t> position_of_local;  // (size)
};

class GeneratorLayout {
 public:
  explicit GeneratorLayout(const GeneratorPlan& plan);

  uint32_t blocks() const { return static_cast<uint32_t>(blocks_.size()); }
  uint32_t BlockBegin(uint32_t block) const { return blocks_[block].begin; }
  uint32_t BlockRows(uint32_t block) const { return blocks_[block].pattern->size; }
  // Directed entries in the rows of a block.
  uint64_t BlockEntries(uint32_t block) const;
  uint32_t BlockOf(uint32_t node) const;
  // The latent community of a node of `block`.
  uint32_t GroupOf(uint32_t block, uint32_t node) const;

  // The rows of one block: row_end (rows) counts entries from the block's start, indices (BlockEntries) are
  // node ids.
  void FillRows(uint32_t block, std::span<uint64_t> row_end, std::span<uint32_t> indices) const;

 private:
  struct Block {
    uint32_t begin = 0;
    uint32_t part = 0;
    uint32_t shift = 0;  // rotates the pattern's ids, so that equal patterns do not line up
    const BlockPattern* pattern = nullptr;
  };
  struct Part {
    uint32_t begin = 0, end = 0;  // nodes
    uint32_t first_block = 0, end_block = 0;
    uint64_t edges = 0;
    bool anchored = false;  // every node draws one edge of its own first
  };

  const BlockPattern* PatternOf(uint32_t size);
  uint64_t CellEdges(uint32_t i, uint32_t j) const;
  void AppendCell(uint32_t i, uint32_t j, std::vector<uint32_t>& keys) const;

  GeneratorPlan plan_;
  std::vector<double> group_ends_;  // (groups) cumulative share of a block's nodes
  std::vector<std::unique_ptr<BlockPattern>> patterns_;
  std::vector<Block> blocks_;
  std::vector<Part> parts_;
  friend class CellDraw;
};

}  // namespace l2gcn
