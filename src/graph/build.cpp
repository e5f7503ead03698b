#include "graph/build.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <vector>

#include "core/disk_memory.h"
#include "core/error_format.h"
#include "core/threads.h"

namespace l2gcn {
namespace {

constexpr size_t kRowsPerTask = 4096;
constexpr size_t kEdgesPerTask = size_t{1} << 18;

uint64_t FetchAdd(uint64_t& counter) {
  return std::atomic_ref<uint64_t>(counter).fetch_add(1, std::memory_order_relaxed);
}

// Keeps the smallest value offered by any thread: "the first wrong edge" is the same one on any thread count.
void KeepSmallest(std::atomic<uint64_t>& smallest, uint64_t value) {
  uint64_t seen = smallest.load(std::memory_order_relaxed);
  while (value < seen && !smallest.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

// The two shapes of input, cut into tasks whose edges are visited as visit(edge, source, target, weight).
struct EdgeListInput {
  std::span<const uint32_t> source, target;
  std::span<const float> weights;

  size_t tasks() const { return (source.size() + kEdgesPerTask - 1) / kEdgesPerTask; }
  uint64_t entries() const { return source.size(); }
  template <class Visit>
  void ForEach(size_t task, const Visit& visit) const {
    const size_t end = std::min(source.size(), (task + 1) * kEdgesPerTask);
    for (size_t e = task * kEdgesPerTask; e < end; ++e) {
      visit(e, source[e], target[e], weights.empty() ? 1.0f : weights[e]);
    }
  }
};

struct CsrInput {
  std::span<const uint64_t> indptr;
  std::span<const uint32_t> indices;
  std::span<const float> weights;

  size_t rows() const { return indptr.size() - 1; }
  size_t tasks() const { return (rows() + kRowsPerTask - 1) / kRowsPerTask; }
  uint64_t entries() const { return indices.size(); }
  template <class Visit>
  void ForEach(size_t task, const Visit& visit) const {
    const size_t end = std::min(rows(), (task + 1) * kRowsPerTask);
    for (size_t row = task * kRowsPerTask; row < end; ++row) {
      for (uint64_t e = indptr[row]; e < indptr[row + 1]; ++e) {
        visit(e, static_cast<uint32_t>(row), indices[e], weights.empty() ? 1.0f : weights[e]);
      }
    }
  }
};

struct Neighbour {
  uint32_t node;
  float weight;
  // The heaviest of equal nodes first, so that dropping repeats keeps the largest weight.
  bool operator<(const Neighbour& other) const {
    return node != other.node ? node < other.node : weight > other.weight;
  }
};

// Rows scattered but not yet merged: row u holds its own entries at start[u] … start[u] + own[u] − 1,
// mirrored ones after them.
struct ScatteredRows {
  Array<uint64_t> start;    // (nodes + 1)
  Array<uint64_t> own;      // (nodes)
  Array<uint32_t> indices;  // (scattered)
  Array<float> weights;     // (scattered) or empty
};

template <class Input>
class Builder {
 public:
  Builder(const Context& context, uint32_t nodes, const Input& input, const BuildOptions& options)
      : context_(context), nodes_(nodes), input_(input), options_(options) {}

  BuiltGraph Build() {
    built_.graph.nodes = nodes_;
    built_.graph.directed = options_.directed;
    built_.changes.entries_read = input_.entries();
    Count();
    Scatter();
    MergeRows();
    HandOver();
    built_.edges = options_.directed ? CountUndirectedEdges(context_, built_.graph)
                                     : (built_.graph.entries() - kept_loops_) / 2;
    return std::move(built_);
  }

 private:
  // Row lengths: own[u] stored entries, plus mirrored ones in start[u + 1]; self loops are counted apart.
  void Count() {
    rows_.start = Array<uint64_t>::Zeros(size_t{nodes_} + 1);
    rows_.own = Array<uint64_t>::Zeros(nodes_);
    Array<uint8_t> loops = Array<uint8_t>::Zeros(nodes_);
    uint64_t* own = rows_.own.mutable_data();
    uint64_t* mirrored = rows_.start.mutable_data() + 1;
    uint8_t* has_loop = loops.mutable_data();
    std::atomic<uint64_t> wrong{std::numeric_limits<uint64_t>::max()}, loop_entries{0};
    ParallelTasks(context_, input_.tasks(), [&](size_t task, uint32_t) {
      uint64_t task_loops = 0;
      input_.ForEach(task, [&](uint64_t edge, uint32_t u, uint32_t v, float) {
        if (u >= nodes_ || v >= nodes_) return KeepSmallest(wrong, edge);
        if (u == v) {
          ++task_loops;
          std::atomic_ref<uint8_t>(has_loop[u]).store(1, std::memory_order_relaxed);
          if (!options_.keep_self_loops) return;
        }
        FetchAdd(own[u]);
        if (!options_.directed && u != v) FetchAdd(mirrored[v]);
      });
      loop_entries.fetch_add(task_loops, std::memory_order_relaxed);
    });
    if (wrong.load() != std::numeric_limits<uint64_t>::max()) ThrowWrongEdge(wrong.load());
    for (uint8_t loop : loops) built_.self_loops += loop;
    built_.changes.self_loops_found = loop_entries.load();
    if (!options_.keep_self_loops) built_.changes.self_loops_dropped = loop_entries.load();
    uint64_t* start = rows_.start.mutable_data();
    for (size_t u = 0; u < nodes_; ++u) start[u + 1] += start[u] + own[u];
  }

  [[noreturn]] void ThrowWrongEdge(uint64_t wrong) const {
    for (size_t task = 0; task < input_.tasks(); ++task) {
      input_.ForEach(task, [&](uint64_t edge, uint32_t u, uint32_t v, float) {
        if (edge != wrong) return;
        ThrowInput(
            "{}: edge {} joins nodes {} and {}, but the nodes are 0 to {}; correct the edge or the node "
            "count",
            options_.where.empty() ? "edge list" : options_.where, edge, u, v,
            nodes_ == 0 ? "(none)" : fmt::to_string(nodes_ - 1));
      });
    }
    ThrowInput("{}: edge {} names a node that does not exist", options_.where, wrong);
  }

  void Scatter() {
    const uint64_t total = rows_.start[nodes_];
    rows_.indices = Array<uint32_t>::Allocate(total);
    if (!input_.weights.empty()) rows_.weights = Array<float>::Allocate(total);
    Array<uint64_t> own_next = Array<uint64_t>::Allocate(nodes_),
                    mirrored_next = Array<uint64_t>::Allocate(nodes_);
    uint64_t* own = own_next.mutable_data();
    uint64_t* mirrored = mirrored_next.mutable_data();
    for (size_t u = 0; u < nodes_; ++u) {
      own[u] = rows_.start[u];
      mirrored[u] = rows_.start[u] + rows_.own[u];
    }
    uint32_t* indices = rows_.indices.mutable_data();
    float* weights = rows_.weights.mutable_data();
    const bool weighted = !input_.weights.empty();
    ParallelTasks(context_, input_.tasks(), [&](size_t task, uint32_t) {
      context_.CheckCancelled();
      input_.ForEach(task, [&](uint64_t, uint32_t u, uint32_t v, float weight) {
        if (u == v && !options_.keep_self_loops) return;
        const uint64_t at = FetchAdd(own[u]);
        indices[at] = v;
        if (weighted) weights[at] = weight;
        if (options_.directed || u == v) return;
        const uint64_t back = FetchAdd(mirrored[v]);
        indices[back] = u;
        if (weighted) weights[back] = weight;
      });
    });
  }

  // Sorts and merges each row to its front and stores its length in the final indptr.
  void MergeRows() {
    built_.graph.indptr = Array<uint64_t>::Allocate(size_t{nodes_} + 1);
    uint64_t* length = built_.graph.indptr.mutable_data() + 1;
    std::atomic<uint64_t> distinct{0}, kept_loops{0};
    ParallelTasks(context_, (size_t{nodes_} + kRowsPerTask - 1) / kRowsPerTask, [&](size_t task, uint32_t) {
      context_.CheckCancelled();
      std::vector<Neighbour> scratch;
      uint64_t task_distinct = 0, task_loops = 0;
      const size_t end = std::min<size_t>(nodes_, (task + 1) * kRowsPerTask);
      for (size_t u = task * kRowsPerTask; u < end; ++u) {
        length[u] =
            rows_.weights.empty() ? MergeRow(u, task_distinct) : MergeWeightedRow(u, task_distinct, scratch);
        if (!options_.keep_self_loops) continue;
        const uint32_t* row = rows_.indices.data() + rows_.start[u];
        task_loops += std::binary_search(row, row + length[u], static_cast<uint32_t>(u)) ? 1 : 0;
      }
      distinct.fetch_add(task_distinct, std::memory_order_relaxed);
      kept_loops.fetch_add(task_loops, std::memory_order_relaxed);
    });
    kept_loops_ = kept_loops.load();
    uint64_t* indptr = built_.graph.indptr.mutable_data();
    indptr[0] = 0;
    for (size_t u = 0; u < nodes_; ++u) indptr[u + 1] += indptr[u];
    Graph::Changes& changes = built_.changes;
    changes.duplicates_dropped = changes.entries_read - changes.self_loops_dropped - distinct.load();
    changes.reverses_added = indptr[nodes_] - distinct.load();
  }

  // `distinct` grows by the number of different stored entries of the row; returns the merged row's length.
  uint64_t MergeRow(size_t u, uint64_t& distinct) {
    uint32_t* row = rows_.indices.mutable_data() + rows_.start[u];
    uint32_t* middle = row + rows_.own[u];
    uint32_t* end = rows_.indices.mutable_data() + rows_.start[u + 1];
    std::sort(row, middle);
    uint32_t* own_end = std::unique(row, middle);
    distinct += static_cast<uint64_t>(own_end - row);
    std::sort(middle, end);
    uint32_t* row_end = std::move(middle, std::unique(middle, end), own_end);
    std::inplace_merge(row, own_end, row_end);
    return static_cast<uint64_t>(std::unique(row, row_end) - row);
  }

  uint64_t MergeWeightedRow(size_t u, uint64_t& distinct, std::vector<Neighbour>& scratch) {
    const uint64_t begin = rows_.start[u], size = rows_.start[u + 1] - begin;
    uint32_t* indices = rows_.indices.mutable_data() + begin;
    float* weights = rows_.weights.mutable_data() + begin;
    scratch.resize(size);
    for (uint64_t i = 0; i < size; ++i) scratch[i] = {indices[i], weights[i]};
    const auto same = [](const Neighbour& a, const Neighbour& b) { return a.node == b.node; };
    const auto middle = scratch.begin() + static_cast<ptrdiff_t>(rows_.own[u]);
    std::sort(scratch.begin(), middle);
    const auto own_end = std::unique(scratch.begin(), middle, same);
    distinct += static_cast<uint64_t>(own_end - scratch.begin());
    std::sort(middle, scratch.end());
    const auto row_end = std::move(middle, scratch.end(), own_end);
    std::inplace_merge(scratch.begin(), own_end, row_end);
    const auto last = std::unique(scratch.begin(), row_end, same);
    const auto length = static_cast<uint64_t>(last - scratch.begin());
    for (uint64_t i = 0; i < length; ++i) {
      indices[i] = scratch[i].node;
      weights[i] = scratch[i].weight;
    }
    return length;
  }

  // Moves the merged rows into arrays of their exact size, giving scattered memory back on the way.
  void HandOver() {
    Graph& graph = built_.graph;
    if (graph.indptr[nodes_] == rows_.indices.size()) {
      graph.indices = std::move(rows_.indices);
      graph.weights = std::move(rows_.weights);
    } else {
      graph.indices = Gather(rows_.indices);
      graph.weights = Gather(rows_.weights);
    }
    rows_ = {};
  }

  template <class T>
  Array<T> Gather(Array<T>& scattered) {
    if (scattered.empty()) return {};
    const Array<uint64_t>& indptr = built_.graph.indptr;
    Array<T> gathered = Array<T>::Allocate(indptr[nodes_]);
    constexpr size_t kRowsPerRound = kRowsPerTask * 64;
    for (size_t first = 0; first < nodes_; first += kRowsPerRound) {
      const size_t last = std::min<size_t>(nodes_, first + kRowsPerRound);
      ParallelFor(context_, last - first, kRowsPerTask, [&](size_t begin, size_t end) {
        for (size_t u = first + begin; u < first + end; ++u) {
          std::copy_n(scattered.data() + rows_.start[u], indptr[u + 1] - indptr[u],
                      gathered.mutable_data() + indptr[u]);
        }
      });
      ReleasePages(scattered.mutable_data() + rows_.start[first],
                   scattered.mutable_data() + rows_.start[last]);
    }
    return gathered;
  }

  // The whole pages inside [begin, end) are never read again: their memory goes back to the system at once.
  static void ReleasePages(void* begin, void* end) {
    constexpr uintptr_t kPage = 4096;
    const uintptr_t first = (reinterpret_cast<uintptr_t>(begin) + kPage - 1) / kPage * kPage;
    const uintptr_t last = reinterpret_cast<uintptr_t>(end) / kPage * kPage;
    if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }

  const Context& context_;
  const uint32_t nodes_;
  const Input& input_;
  const BuildOptions& options_;
  ScatteredRows rows_;
  uint64_t kept_loops_ = 0;
  BuiltGraph built_;
};

}  // namespace

BuiltGraph BuildGraph(const Context& context, uint32_t nodes, std::span<const uint32_t> source,
                      std::span<const uint32_t> target, std::span<const float> weights,
                      const BuildOptions& options) {
  L2GCN_ASSERT(source.size() == target.size());
  L2GCN_ASSERT(weights.empty() || weights.size() == source.size());
  const EdgeListInput input{source, target, weights};
  return Builder<EdgeListInput>(context, nodes, input, options).Build();
}

BuiltGraph BuildGraphFromCsr(const Context& context, uint32_t nodes, std::span<const uint64_t> indptr,
                             std::span<const uint32_t> indices, std::span<const float> weights,
                             const BuildOptions& options) {
  if (indptr.size() != size_t{nodes} + 1 || indptr[0] != 0 || indptr[nodes] != indices.size() ||
      !std::is_sorted(indptr.begin(), indptr.end())) {
    ThrowInput(
        "{}: row offsets do not describe {} rows with {} entries: expected {} ascending offsets from 0 to {}",
        options.where, nodes, indices.size(), size_t{nodes} + 1, indices.size());
  }
  L2GCN_ASSERT(weights.empty() || weights.size() == indices.size());
  const CsrInput input{indptr, indices, weights};
  return Builder<CsrInput>(context, nodes, input, options).Build();
}

namespace {

// Which nodes are picked, and as which: a bit a node and a count every 64, which stay in the second level of cache where
// a number a node would not.
class PickedNodes {
 public:
  PickedNodes(uint32_t all, std::span<const uint32_t> nodes)
      : bits_(all / 64 + 1, 0), before_(all / 64 + 1, 0) {
    for (const uint32_t node : nodes) {
      L2GCN_ASSERT(node < all && !Has(node));
      bits_[node / 64] |= uint64_t{1} << node % 64;
    }
    uint32_t count = 0;
    for (size_t word = 0; word < bits_.size(); ++word) {
      before_[word] = count;
      count += static_cast<uint32_t>(std::popcount(bits_[word]));
    }
    if (std::is_sorted(nodes.begin(), nodes.end())) return;
    place_.resize(nodes.size());
    for (size_t k = 0; k < nodes.size(); ++k) place_[Rank(nodes[k])] = static_cast<uint32_t>(k);
  }

  bool Has(uint32_t node) const { return (bits_[node / 64] >> node % 64 & 1) != 0; }
  // The place of a picked node among those picked.
  uint32_t PlaceOf(uint32_t node) const { return ascending() ? Rank(node) : place_[Rank(node)]; }
  bool ascending() const { return place_.empty(); }

 private:
  uint32_t Rank(uint32_t node) const {
    const uint64_t below = bits_[node / 64] & ((uint64_t{1} << node % 64) - 1);
    return before_[node / 64] + static_cast<uint32_t>(std::popcount(below));
  }

  std::vector<uint64_t> bits_;
  std::vector<uint32_t> before_;  // picked nodes before each word
  std::vector<uint32_t> place_;   // of each picked node in ascending order; empty: its rank
};

}  // namespace

Graph InducedSubgraph(const Context& context, const Graph& graph, std::span<const uint32_t> nodes) {
  const PickedNodes picked(graph.nodes, nodes);
  Graph sub;
  sub.nodes = static_cast<uint32_t>(nodes.size());
  sub.directed = graph.directed;
  sub.indptr = Array<uint64_t>::Zeros(nodes.size() + 1);
  uint64_t* indptr = sub.indptr.mutable_data();
  ParallelFor(context, nodes.size(), 256, [&](size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) {
      uint64_t found = 0;
      for (uint64_t e = graph.indptr[nodes[k]]; e < graph.indptr[nodes[k] + 1]; ++e)
        found += picked.Has(graph.indices[e]) ? 1 : 0;
      indptr[k + 1] = found;
    }
  });
  for (size_t k = 0; k < nodes.size(); ++k) indptr[k + 1] += indptr[k];
  sub.indices = LargeArray<uint32_t>(context.disk, indptr[nodes.size()]);
  if (graph.weighted()) sub.weights = LargeArray<float>(context.disk, indptr[nodes.size()]);
  uint32_t* indices = sub.indices.mutable_data();
  float* weights = sub.weights.mutable_data();
  ParallelFor(context, nodes.size(), 256, [&](size_t begin, size_t end) {
    std::vector<Neighbour> row;
    for (size_t k = begin; k < end; ++k) {
      uint64_t at = indptr[k];
      row.clear();
      for (uint64_t e = graph.indptr[nodes[k]]; e < graph.indptr[nodes[k] + 1]; ++e) {
        if (!picked.Has(graph.indices[e])) continue;
        const uint32_t place = picked.PlaceOf(graph.indices[e]);
        if (!picked.ascending()) {
          row.push_back({place, graph.weighted() ? graph.weights[e] : 1.0f});
          continue;
        }
        if (graph.weighted()) weights[at] = graph.weights[e];
        indices[at++] = place;
      }
      std::sort(row.begin(), row.end());
      for (const Neighbour& neighbour : row) {
        if (graph.weighted()) weights[at] = neighbour.weight;
        indices[at++] = neighbour.node;
      }
    }
  });
  return sub;
}

uint64_t CountUndirectedEdges(const Context& context, const Graph& graph) {
  std::atomic<uint64_t> edges{0};
  ParallelTasks(context, (size_t{graph.nodes} + kRowsPerTask - 1) / kRowsPerTask, [&](size_t task, uint32_t) {
    uint64_t found = 0;
    const size_t end = std::min<size_t>(graph.nodes, (task + 1) * kRowsPerTask);
    for (size_t u = task * kRowsPerTask; u < end; ++u) {
      for (uint64_t e = graph.indptr[u]; e < graph.indptr[u + 1]; ++e) {
        const uint32_t v = graph.indices[e];
        if (u < v) {
          ++found;
        } else if (u > v && graph.directed) {  // counted at v already if v → u exists
          const uint32_t* row = graph.indices.data();
          found +=
              std::binary_search(row + graph.indptr[v], row + graph.indptr[v + 1], static_cast<uint32_t>(u))
                  ? 0
                  : 1;
        }
      }
    }
    edges.fetch_add(found, std::memory_order_relaxed);
  });
  return edges.load();
}

uint32_t CheckedNodeCount(uint64_t count, const std::string& where) {
  if (count > std::numeric_limits<uint32_t>::max()) {
    ThrowInput("{}: {} nodes, but at most {} are supported", where, count,
               std::numeric_limits<uint32_t>::max());
  }
  return static_cast<uint32_t>(count);
}

}  // namespace l2gcn
