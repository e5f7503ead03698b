// The input of a conventional training step: one sparse block per layer between two lists of nodes.
//
//   H⁽ˡ⁺¹⁾ = act( (B⁽ˡ⁾ H⁽ˡ⁾) W⁽ˡ⁾ ),   B⁽ˡ⁾ is (nodes[l+1] × nodes[l])
//
// Every conventional method is a way of drawing these blocks (sampler.h); the arithmetic through them,
// forward and backward, is written once (block_network.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/block_ops.h"
#include "l2gcn/array.h"

namespace l2gcn {

// Rows are destinations, columns sources; a column is a position in the layer's source list.
struct Block {
  uint32_t rows = 0;
  uint32_t cols = 0;
  std::vector<uint64_t> indptr;   // (rows + 1)
  std::vector<uint32_t> indices;  // (entries)
  std::vector<float> values;      // (entries)
  // (entries) or empty: a second operator of the same pattern, applied to the activations as they are before
  // dropout. Control variates need it: dropout's noise must not be scaled like the sampled difference.
  std::vector<float> clean;
  // Bᵀ where the block outlives a step (a full batch); null: the network builds it when it needs it.
  std::shared_ptr<const Block> transpose;
  bool symmetric = false;  // B = Bᵀ
  // (rows) where the destinations are among the sources; empty: destination i is source i, or they are not used.
  std::vector<uint32_t> own;

  uint64_t entries() const { return indices.size(); }
  BlockView View() const { return {rows, cols, indptr, indices, values}; }
  BlockView CleanView() const { return {rows, cols, indptr, indices, clean}; }
  size_t bytes() const {
    return indptr.capacity() * sizeof(uint64_t) + indices.capacity() * sizeof(uint32_t) +
           (values.capacity() + clean.capacity()) * sizeof(float);
  }
};

// One step's data. Node numbers are those of the graph in training.
struct MiniBatch {
  std::vector<std::vector<uint32_t>> nodes;  // (layers + 1): inputs first, nodes of the loss last
  std::vector<std::shared_ptr<const Block>>
      blocks;                   // (layers); null: nodes[l+1] equals nodes[l], no operator
  std::vector<Matrix> offsets;  // (layers) or empty: a constant added to B⁽ˡ⁾H⁽ˡ⁾; empty matrix: none
};

// Bᵀ by a counting sort: entries of a row in ascending order of the old row, whatever the thread count.
void TransposeBlock(const Block& block, Block& out);

}  // namespace l2gcn
