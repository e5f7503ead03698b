#include "kernels/ranks/shared_rows.h"

#include <algorithm>
#include <memory>

#include "core/threads.h"
#include "kernels/disk/disk_tensor.h"
#include "ranks/collectives.h"

namespace l2gcn {
namespace {

constexpr size_t kWrittenRows =
    16384;  // of a block: what is made of them before they are written stays in cache
constexpr size_t kSharedCopyRows = 256;  // that one thread copies at a time

}  // namespace

Propagation RowsOfOperator(const Propagation& a, size_t begin, size_t end, std::vector<uint64_t>& offsets) {
  const size_t rows = end - begin;
  offsets.resize(rows + 1);
  for (size_t row = 0; row <= rows; ++row) offsets[row] = a.indptr[begin + row] - a.indptr[begin];
  const uint64_t first = a.indptr[begin], entries = offsets[rows];
  Propagation part;
  part.nodes = static_cast<uint32_t>(rows);
  part.first_row = a.first_row + static_cast<uint32_t>(begin);
  part.indptr = Array<uint64_t>::Borrow(nullptr, offsets.data(), rows + 1);
  part.indices = Array<uint32_t>::Borrow(nullptr, a.indices.data() + first, entries);
  if (!a.weights.empty()) part.weights = Array<float>::Borrow(nullptr, a.weights.data() + first, entries);
  part.row_scale = Array<float>::Borrow(nullptr, a.row_scale.data() + begin, rows);
  part.self_scale = Array<float>::Borrow(nullptr, a.self_scale.data() + begin, rows);
  part.col_scale = a.col_scale;
  if (!a.own.empty()) part.own = Array<uint32_t>::Borrow(nullptr, a.own.data() + begin, rows);
  return part;
}

Features WriteSharedRows(const Context& context, SharedPool& pool, FeatureType type, size_t rows, size_t cols,
                         const SharedRowWriter& write) {
  Ranks& ranks = *context.ranks;
  const size_t row_bytes = cols * BytesOf(type);
  const std::shared_ptr<void> memory = pool.Take(rows * row_bytes);
  char* const elements = static_cast<char*>(memory.get());
  const size_t begin = ShareBegin(rows, ranks.rank(), ranks.size()),
               own = ShareBegin(rows, ranks.rank() + 1, ranks.size()) - begin;
  for (size_t first = 0; first < own; first += kWrittenRows) {
    const size_t count = std::min(kWrittenRows, own - first);
    char* const to = elements + (begin + first) * row_bytes;
    PopulateShared(context, to, count * row_bytes);
    write(first, count, to);
  }
  Barrier(ranks);
  return RowsAsFeatures(type, memory, elements, rows, cols);
}

Features ShareRows(const Context& context, SharedPool& pool, const RankRows& own, size_t rows, size_t cols) {
  const size_t row_bytes = cols * own.bytes();
  return WriteSharedRows(context, pool, own.type(), rows, cols, [&](size_t first, size_t count, char* to) {
    ParallelFor(context, count, kSharedCopyRows, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) own.Copy(first + i, 0, cols, to + i * row_bytes);
    });
  });
}

StoredMatrix AggregateOwnRows(const Context& context, SharedPool& pool, MatrixMemory& memory,
                              const Propagation& a, const Features& x, std::span<const uint32_t> row_of_node,
                              FeatureType out_type) {
  Ranks& ranks = *context.ranks;
  const uint32_t rank = ranks.rank(), size = ranks.size();
  std::vector<uint64_t> offsets;
  const Propagation rows =
      RowsOfOperator(a, ShareBegin(a.nodes, rank, size), ShareBegin(a.nodes, rank + 1, size), offsets);
  const StoredMatrix input(x);
  const size_t sources = row_of_node.empty() ? x.rows() : row_of_node.size();
  if (!CopiesTiles(input, sources, a.entries()))
    return AggregateDense(context, CpuKernelTable(), memory, rows, input, row_of_node, out_type);
  const size_t bytes = TileBytes(input, sources), row_bytes = bytes / sources;
  const std::shared_ptr<void> tile = pool.Take(bytes);
  const SharedTile shared = {static_cast<char*>(tile.get()), ShareBegin(sources, rank, size),
                             ShareBegin(sources, rank + 1, size), [&] { Barrier(ranks); }};
  PopulateShared(context, shared.elements + shared.first * row_bytes,
                 (shared.end - shared.first) * row_bytes);
  return AggregateDense(context, CpuKernelTable(), memory, rows, input, row_of_node, out_type, &shared);
}

}  // namespace l2gcn
