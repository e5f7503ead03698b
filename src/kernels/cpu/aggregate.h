// X̂ = Â X on the CPU, for dense and for sparse X. Rows are handed to threads in pieces of about equal numbers
// of edges, because degrees are heavy-tailed; a row is always summed by one thread in ascending order of
// neighbours.
#pragma once

#include <functional>
#include <span>

#include "core/propagation.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/matrix_memory.h"
#include "kernels/cpu/stored_matrix.h"
#include "l2gcn/array.h"
#include "l2gcn/context.h"

namespace l2gcn {

// Where rows of x are gathered often, columns are copied together first, tile by tile. Several processes that sum
// different rows of one operator may copy a tile together, each its share of the rows.
struct SharedTile {
  char* elements = nullptr;     // (TileBytes) that all of them see
  size_t first = 0, end = 0;    // the rows that this process copies, of those that can be gathered
  std::function<void()> Await;  // returns when all processes have called it as often
};
// Whether an operator of so many entries that gathers from `sources` rows of x is summed by tiles that are copied first.
bool CopiesTiles(const StoredMatrix& x, size_t sources, uint64_t entries);
size_t TileBytes(const StoredMatrix& x, size_t sources);

// Rows of x are prepared and widened as they are read. The result is stored in `out_type`: f32, or the type
// of x where x is not prepared. `shared`, if not null, is where tiles are copied to; then they are copied.
StoredMatrix AggregateDense(const Context& context, const CpuKernels& kernels, MatrixMemory& memory,
                            const Propagation& a, const StoredMatrix& x,
                            std::span<const uint32_t> row_of_node, FeatureType out_type = FeatureType::kF32,
                            const SharedTile* shared = nullptr);

// Â X without ever being whole: visit(rows, first) for blocks of rows, in any order and by several threads at
// once. The block's row i is row first + i of Â X.
void AggregateBlocks(const Context& context, const CpuKernels& kernels, const Propagation& a,
                     const StoredMatrix& x, size_t block_rows, FeatureType out_type,
                     const std::function<void(const StoredMatrix& rows, size_t first)>& visit);

// Non-zeros of Â X, row by row (nodes + 1 offsets), without computing it. Empty, and found out early, where there are more
// than `most`.
Array<uint64_t> AggregatedOffsets(const Context& context, const Propagation& a, const CsrMatrix& x,
                                  std::span<const uint32_t> row_of_node, uint64_t most);
// Â X kept sparse; `offsets` from AggregatedOffsets.
CsrMatrix AggregateSparse(const Context& context, MatrixMemory& memory, const Propagation& a,
                          const CsrMatrix& x, std::span<const uint32_t> row_of_node, Array<uint64_t> offsets);
// Â X made dense.
Matrix AggregateSparseToDense(const Context& context, MatrixMemory& memory, const Propagation& a,
                              const CsrMatrix& x, std::span<const uint32_t> row_of_node);

}  // namespace l2gcn
