// Aggregation where all ranks see one memory (Ranks::shares_memory): matrices that are summed over the graph lie there
// whole, each rank writes its own rows of them, and sums its own rows of the result with the kernel of a single process,
// which reads everyone's rows in place. Nothing is sent, and a row's sum keeps its order: the bits are those of one
// process.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/propagation.h"
#include "kernels/cpu/aggregate.h"
#include "kernels/ranks/rank_rows.h"
#include "l2gcn/context.h"
#include "l2gcn/features.h"
#include "l2gcn/ranks.h"
#include "ranks/shared_memory.h"

namespace l2gcn {

// Rows begin … end − 1 of an operator, sharing its arrays; `offsets` holds what cannot be shared.
Propagation RowsOfOperator(const Propagation& a, size_t begin, size_t end, std::vector<uint64_t>& offsets);

// A matrix (rows × cols) that all ranks see: write(first, count, to) puts this rank's rows first … first + count − 1,
// counted from its own first one, to `to`. It is called for blocks of rows, one after another; returns when all ranks
// have written theirs.
using SharedRowWriter = std::function<void(size_t first, size_t count, char* to)>;
Features WriteSharedRows(const Context& context, SharedPool& pool, FeatureType type, size_t rows, size_t cols,
                         const SharedRowWriter& write);

// The same matrix of rows that this rank has already.
Features ShareRows(const Context& context, SharedPool& pool, const RankRows& own, size_t rows, size_t cols);

// This rank's rows of Â x, x being seen whole by every rank.
StoredMatrix AggregateOwnRows(const Context& context, SharedPool& pool, MatrixMemory& memory,
                              const Propagation& a, const Features& x, std::span<const uint32_t> row_of_node,
                              FeatureType out_type);

}  // namespace l2gcn
