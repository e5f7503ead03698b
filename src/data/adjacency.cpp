// Graphs from the two shapes in which arrays hold them: a sparse matrix, or pairs of nodes.
#include <algorithm>
#include <cstring>

#include "core/disk_memory.h"
#include "core/error_format.h"
#include "core/scratch_folder.h"
#include "core/threads.h"
#include "data/edge_sort.h"
#include "data/native_store.h"
#include "data/reader.h"

namespace l2gcn {
namespace {

bool AllOnes(const Array<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return value == 1; });
}

// Weights matter only where they differ from 1.
std::span<const float> WeightsOf(const Array<float>& values) {
  return AllOnes(values) ? std::span<const float>() : values.span();
}

}  // namespace

BuildOptions BuildFor(const OpenOptions& options, const std::string& where) {
  return {options.directed, options.keep_self_loops, where};
}

BuiltGraph GraphFromSparse(const Context& context, const StoredSparse& stored, const OpenOptions& options) {
  if (stored.rows != stored.cols) {
    ThrowInput("{}: the adjacency is {} × {}; expected a square matrix", stored.where, stored.rows,
               stored.cols);
  }
  CheckStored(stored);
  const uint32_t nodes = CheckedNodeCount(stored.rows, stored.where);
  if (stored.layout == "coo") {
    return BuildGraph(context, nodes, stored.row_indices.span(), stored.indices.span(),
                      WeightsOf(stored.values), BuildFor(options, stored.where));
  }
  // Columns in place of rows turn every edge around, which matters only where directions are kept.
  if (stored.layout == "csc" && options.directed) {
    const CsrMatrix rows = ToCsr(context, stored);
    return BuildGraphFromCsr(context, nodes, rows.indptr.span(), rows.indices.span(), WeightsOf(rows.values),
                             BuildFor(options, stored.where));
  }
  return BuildGraphFromCsr(context, nodes, stored.indptr.span(), stored.indices.span(),
                           WeightsOf(stored.values), BuildFor(options, stored.where));
}

namespace {

constexpr double kPairsShare = 0.125;  // of the budget: longer arrays of edges are sorted on disk
constexpr size_t kPairsPerTask = size_t{1} << 16;

// Whether elements can be read where they lie.
bool CanBeRead(const NpyArray& edges) {
  const NpyType& type = edges.type();
  return (type.kind == 'i' || type.kind == 'u') && (type.bytes == 4 || type.bytes == 8) && !type.big_endian;
}

int64_t ElementAt(const NpyArray& edges, size_t at) {
  const uint8_t* const from = edges.payload().data() + at * edges.type().bytes;
  if (edges.type().bytes == 8) {
    int64_t value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
  int32_t value;
  std::memcpy(&value, from, sizeof(value));
  return edges.type().kind == 'u' ? int64_t{static_cast<uint32_t>(value)} : value;
}

// The graph in files of the scratch folder, which lose their names once they are mapped. `columns`: all sources stand
// before all targets.
BuiltGraph SortPairs(const Context& context, const NpyArray& edges, bool columns, uint32_t nodes,
                     const BuildOptions& options) {
  const auto disk = std::make_shared<DiskMemory>(context.host_memory, ScratchDirectory(context));
  disk->Watch(Array<uint8_t>::Borrow(edges.owner(), edges.payload().data(), edges.payload().size()));
  const ScratchFolder folder(disk->directory());
  const auto buffers = static_cast<uint64_t>(kSortShare * static_cast<double>(context.host_memory));
  const auto sorter = EdgeSorter::Make(
      context, {options.directed, options.keep_self_loops, false, buffers, folder.path(), {}});
  const size_t count = edges.size() / 2;
  ParallelTasks(context, (count + kPairsPerTask - 1) / kPairsPerTask, [&](size_t task, uint32_t worker) {
    disk->Relax();
    std::vector<uint32_t> sources, targets;
    for (size_t e = task * kPairsPerTask; e < std::min(count, (task + 1) * kPairsPerTask); ++e) {
      const int64_t u = ElementAt(edges, columns ? e : 2 * e);
      const int64_t v = ElementAt(edges, columns ? count + e : 2 * e + 1);
      if (u < 0 || v < 0 || u >= nodes || v >= nodes) {
        ThrowInput(
            "{}: edge {} joins nodes {} and {}, but the nodes are 0 to {}; correct the edge or the node "
            "count",
            options.where, e, u, v, int64_t{nodes} - 1);
      }
      sources.push_back(static_cast<uint32_t>(u));
      targets.push_back(static_cast<uint32_t>(v));
    }
    sorter->Add(worker, sources, targets, {});
  });
  sorter->Flush();
  const SortedEdges sorted = sorter->Finish(nodes, {});
  BuiltGraph built;
  built.graph.nodes = nodes;
  built.graph.directed = options.directed;
  built.graph.indptr = NpyArray::Open(folder.path() / kGraphIndptrFile).As<uint64_t>(context);
  built.graph.indices = NpyArray::Open(folder.path() / kGraphIndicesFile).As<uint32_t>(context);
  built.changes = sorted.changes;
  built.edges = sorted.edges;
  built.self_loops = sorted.self_loops;
  return built;
}

}  // namespace

BuiltGraph GraphFromPairs(const Context& context, const NpyArray& edges, uint32_t nodes,
                          const BuildOptions& options) {
  edges.ExpectDimensions(2);
  const bool columns = edges.shape()[0] == 2 && edges.shape()[1] != 2;
  if (!columns && edges.shape()[1] != 2) {
    ThrowInput("{}: expected edges of shape (E, 2) or (2, E), found ({}, {})", edges.where(),
               edges.shape()[0], edges.shape()[1]);
  }
  if (context.host_memory != 0 && CanBeRead(edges) &&
      edges.payload().size() > static_cast<size_t>(kPairsShare * static_cast<double>(context.host_memory)))
    return SortPairs(context, edges, columns != edges.fortran(), nodes, options);
  const Array<uint32_t> flat = edges.As<uint32_t>(context);
  const size_t count = flat.size() / 2;
  if (columns) {
    return BuildGraph(context, nodes, flat.span().first(count), flat.span().subspan(count), {}, options);
  }
  Array<uint32_t> source = Array<uint32_t>::Allocate(count), target = Array<uint32_t>::Allocate(count);
  for (size_t e = 0; e < count; ++e) {
    source.mutable_data()[e] = flat[2 * e];
    target.mutable_data()[e] = flat[2 * e + 1];
  }
  return BuildGraph(context, nodes, source.span(), target.span(), {}, options);
}

}  // namespace l2gcn
