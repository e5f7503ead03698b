// Sorts an edge list of any length into compressed rows on disk, within a fixed amount of memory.
//
// Method: every worker fills a buffer with both directions of its edges, sorts it piece by piece
// (radix_sort.h), drops the repeats of each piece and appends it to a run. Then the key space is cut into
// ranges of about a million entries; each range's slices of all runs are read, sorted together and merged,
// one range a worker, and the workers append theirs in turn. The result is that of graph/build.h, entry for
// entry, including what it counts; the largest weight of repeats stays.
//
// Keys: source in the high half, target and a bit for "mirrored" in the low half, so node numbers stay below
// 2³¹.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/build.h"
#include "l2gcn/context.h"
#include "l2gcn/graph.h"

namespace l2gcn {

// The share of the process's memory budget that buffers of edges may take. The rest is for reading and parsing.
inline constexpr double kSortShare = 0.4;

struct EdgeSortOptions {
  bool directed = false;
  bool keep_self_loops = false;
  bool weighted = false;
  uint64_t memory = uint64_t{1} << 30;  // for buffers, all workers together
  std::filesystem::path directory;      // runs are written and removed here; the rows stay
  // Told, from any worker, nodes that have an edge: different ones that ascend, again and again; each of them
  // by the end of Flush. May be empty.
  std::function<void(std::span<const uint32_t>)> on_nodes;
};

// What was written: graph_indptr.npy, graph_indices.npy and, if any weight differs from 1, graph_weights.npy.
struct SortedEdges {
  Graph::Changes changes;
  uint64_t entries = 0, edges = 0, self_loops = 0;
};

class EdgeSorter {
 public:
  static std::unique_ptr<EdgeSorter> Make(const Context& context, const EdgeSortOptions& options);
  virtual ~EdgeSorter() = default;
  // From worker `worker` (0 … threads−1); workers do not disturb each other. `weights` may be empty: all 1.
  virtual void Add(uint32_t worker, std::span<const uint32_t> sources, std::span<const uint32_t> targets,
                   std::span<const float> weights) = 0;
  // Writes out what is buffered: from here on nothing may be added, and on_nodes has been told all nodes.
  virtual void Flush() = 0;
  // Merges the runs, after Flush. `to_nodes`, if not empty, turns keys into nodes in place, from several
  // threads, while they are written; nodes must ascend as keys do.
  virtual SortedEdges Finish(uint32_t nodes, const std::function<void(std::span<uint32_t>)>& to_nodes) = 0;
};

}  // namespace l2gcn
