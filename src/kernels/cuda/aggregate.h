// Â X for dense and for sparse X; and, as the same sum, X W for sparse X.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/rows.h"

namespace l2gcn::cuda {

// out_i = self_i · x_i + row_i · Σ_e weight_e · col_{j(e)} · x_{j(e)}; null arrays stand for ones, a null
// `self` for zeros. `row_of_node` says which row of x stands for a node.
struct AggregateArguments {
  uint32_t nodes = 0;
  const uint64_t* indptr = nullptr;
  const uint32_t* indices = nullptr;
  const float* weights = nullptr;
  const float* row_scale = nullptr;
  const float* col_scale = nullptr;
  const float* self_scale = nullptr;
  uint32_t first_node = 0;  // the node that row 0 stands for: the one whose own feature it adds
  const uint32_t* row_of_node = nullptr;
  const uint32_t* picked = nullptr;  // (nodes) whose entries to sum for each row of out; null: its own
  // Nodes by falling class of degree, and how many are in the two upper classes; null: all in the middle one.
  const uint32_t* order = nullptr;
  uint32_t heavy = 0, middle = 0;
  uint64_t entries = 0;  // in all; chooses the width of column tiles
};

// A node above this degree is summed by a whole block; at or below kLightDegree, by part of a warp.
constexpr uint64_t kHeavyDegree = 4096;
constexpr uint64_t kLightDegree = 24;

// Lanes that take a row of a tile where a matrix of `columns` columns is aggregated: 8, 16 or 32. They decide the order
// in which neighbours are added; columns that are aggregated apart from others keep their bits by the same number.
int LanesFor(const AggregateArguments& a, size_t columns);

// `columns` (a multiple of 4) of dense rows, from column 0 of x to column 0 of out; both of one kind. Columns
// are worked off in tiles narrow enough for x's tile to stay in L2; lanes: 8, 16 or 32 lanes a row of a tile,
// 0: LanesFor.
void LaunchAggregate(const AggregateArguments& a, const DeviceRows& x, const DeviceRows& out,
                     uint32_t columns, bool relu, cudaStream_t stream, int lanes = 0);

// Sparse x of `columns` columns: (1) entries of each row of the sum, (2) the sum as sparse rows at
// out.indptr, (3) the sum as dense rows of float.
void LaunchCountEntries(const AggregateArguments& a, const DeviceRows& x, uint32_t columns, uint32_t* counts,
                        cudaStream_t stream);
void LaunchAggregateSparse(const AggregateArguments& a, const DeviceRows& x, uint32_t columns,
                           const uint64_t* out_indptr, uint32_t* out_columns, float* out_values,
                           cudaStream_t stream);
void LaunchAggregateToDense(const AggregateArguments& a, const DeviceRows& x, uint32_t columns,
                            const DeviceRows& out, cudaStream_t stream);

// Copies columns first … first+columns−1 (multiples of 4) of dense rows, converting between kinds.
void LaunchCopyColumns(const DeviceRows& from, size_t first, const DeviceRows& to, size_t rows,
                       uint32_t columns, cudaStream_t stream);

}  // namespace l2gcn::cuda
