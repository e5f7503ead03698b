// The counts in a native directory's manifest against its graph, in one pass over the neighbour lists.
#include <algorithm>
#include <atomic>
#include <vector>

#include "core/disk_memory.h"
#include "core/error_format.h"
#include "core/threads.h"
#include "core/usable.h"
#include "data/validate.h"
#include "graph/build.h"

namespace l2gcn {
namespace {

constexpr size_t kRows = 8192;                // that a thread looks at in one go
constexpr size_t kEntries = size_t{1} << 18;  // of them, at a time

// A number for the edge between two nodes that hardly any other edge has.
uint64_t MixEdge(uint64_t low, uint64_t high) {
  uint64_t mixed = (low << 32 | high) * 0x9E3779B97F4A7C15u;
  mixed ^= mixed >> 32;
  return mixed * 0xD6E8FEB86659FD93u;
}

// Sums over entries, which do not depend on the order they are added in.
struct EntrySums {
  std::atomic<uint64_t> loops{0};
  std::atomic<uint64_t> unmatched{0};  // of edges towards larger nodes, less those towards smaller ones
};

// Entries of rows first … first + count − 1, a piece at a time: a row may be longer than a piece.
void AddRows(const Context& context, const Graph& graph, size_t first, size_t count,
             DiskBuffer& offset_buffer, DiskBuffer& index_buffer, EntrySums& sums) {
  const uint64_t* const offsets = ViewOf(context.disk, graph.indptr, first, count + 1, offset_buffer);
  uint64_t loops = 0, unmatched = 0;
  size_t row = 0;
  for (uint64_t at = offsets[0]; at < offsets[count]; at += kEntries) {
    const uint64_t end = std::min(offsets[count], at + kEntries);
    const uint32_t* const values = ViewOf(context.disk, graph.indices, at, end - at, index_buffer);
    for (uint64_t e = at; e < end; ++e) {
      while (offsets[row + 1] <= e) ++row;
      const uint64_t u = first + row, v = values[e - at], mixed = MixEdge(std::min(u, v), std::max(u, v));
      loops += u == v ? 1 : 0;
      unmatched += u < v ? mixed : u > v ? 0 - mixed : 0;
    }
  }
  sums.loops += loops;
  sums.unmatched += unmatched;
}

// The self loops of a graph, which must hold every edge in both directions unless it is directed.
uint64_t CheckDirections(const Context& context, const Dataset& dataset, const Graph& graph) {
  struct Buffers {
    DiskBuffer offsets, indices;
  };
  std::vector<Buffers> buffers(context.threads);
  EntrySums sums;
  ParallelTasks(context, (size_t{graph.nodes} + kRows - 1) / kRows, [&](size_t piece, uint32_t worker) {
    context.CheckCancelled();
    const size_t first = piece * kRows;
    AddRows(context, graph, first, std::min<size_t>(kRows, graph.nodes - first), buffers[worker].offsets,
            buffers[worker].indices, sums);
  });
  if (!graph.directed && sums.unmatched != 0) {
    ThrowInput(
        "{}: the graph is undirected, but some edges are stored in one direction only; convert the source "
        "again",
        PlaceOf(dataset));
  }
  return sums.loops;
}

}  // namespace

void CheckStoredCounts(const Context& context, const Dataset& dataset) {
  const Graph& graph = dataset.graph;
  for (const Relation& relation : dataset.relations) CheckDirections(context, dataset, relation.graph);
  const uint64_t loops = CheckDirections(context, dataset, graph);
  const uint64_t edges =
      graph.directed ? CountUndirectedEdges(context, graph) : (graph.entries() - loops) / 2;
  if (edges != dataset.edges || loops > dataset.self_loops) {
    ThrowInput(
        "{}: dataset.json has {} edges and {} self loops, the graph {} and {}; convert the source again",
        PlaceOf(dataset), dataset.edges, dataset.self_loops, edges, loops);
  }
}

}  // namespace l2gcn
