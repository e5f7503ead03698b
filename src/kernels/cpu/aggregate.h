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

// X̂ stays sparse up to this share of non-zeros: beyond it the dense kernels' arithmetic is cheaper than the
// sparse ones' indirection (docs/performance.md has the measurement).
inline constexpr double kSparseDensity = 0.25;

// How the columns of x are taken: so many at a time over all rows, so that what is gathered stays in the outer cache;
// where they are copied, they are copied together into one place first. Neither changes a bit of the result.
struct ColumnTiles {
  size_t columns = 0;
  bool copied = false;
};
// For an operator of so many entries that gathers from `sources` rows of x. Where `processes` of one machine each sum a
// part of its rows at the same time, each has a tile of its own, so much narrower that all of them together take the
// room of one; `entries` are those of all parts.
ColumnTiles TilesOf(const StoredMatrix& x, size_t sources, uint64_t entries, uint32_t processes = 1);

// Rows of x are prepared and widened as they are read. The result is stored in `out_type`: f32, or the type
// of x where x is not prepared. `tiles`, if not null, says how columns are taken.
StoredMatrix AggregateDense(const Context& context, const CpuKernels& kernels, MatrixMemory& memory,
                            const Propagation& a, const StoredMatrix& x,
                            std::span<const uint32_t> row_of_node, FeatureType out_type = FeatureType::kF32,
                            const ColumnTiles* tiles = nullptr);

// Â X without ever being whole: visit(rows, first) for blocks of rows, in any order and by several threads at
// once. The block's row i is row first + i of Â X.
void AggregateBlocks(const Context& context, const CpuKernels& kernels, const Propagation& a,
                     const StoredMatrix& x, size_t block_rows, FeatureType out_type,
                     const std::function<void(const StoredMatrix& rows, size_t first)>& visit);

// Non-zeros of Â X, row by row (nodes + 1 offsets), without computing it.
Array<uint64_t> AggregatedOffsets(const Context& context, const Propagation& a, const CsrMatrix& x,
                                  std::span<const uint32_t> row_of_node);
// Â X kept sparse; `offsets` from AggregatedOffsets.
CsrMatrix AggregateSparse(const Context& context, MatrixMemory& memory, const Propagation& a,
                          const CsrMatrix& x, std::span<const uint32_t> row_of_node, Array<uint64_t> offsets);
// Â X made dense.
Matrix AggregateSparseToDense(const Context& context, MatrixMemory& memory, const Propagation& a,
                              const CsrMatrix& x, std::span<const uint32_t> row_of_node);

}  // namespace l2gcn
