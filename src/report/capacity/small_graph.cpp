#include "report/capacity/small_graph.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/error_format.h"
#include "core/threads.h"

namespace l2gcn::capacity {
namespace {

// Colours of the nodes: 0 … cells−1, where the numbers do not depend on how the nodes are labelled.
struct Colouring {
  std::array<uint8_t, kMostNodes> of = {};
  uint32_t cells = 1;
};

// Splits cells by the numbers of neighbours in every cell until nothing splits.
void Refine(const SmallGraph& graph, Colouring& colours) {
  const uint32_t n = graph.nodes;
  for (;;) {
    uint8_t counts[kMostNodes][kMostNodes];  // (nodes × cells)
    uint64_t members[kMostNodes] = {};
    for (uint32_t i = 0; i < n; ++i) members[colours.of[i]] |= uint64_t{1} << i;
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t c = 0; c < colours.cells; ++c) {
        counts[i][c] = static_cast<uint8_t>(std::popcount(graph.rows[i] & members[c]));
      }
    }
    const auto compare = [&](uint32_t a, uint32_t b) {
      if (colours.of[a] != colours.of[b]) return colours.of[a] < colours.of[b] ? -1 : 1;
      return std::memcmp(counts[a], counts[b], colours.cells);
    };
    uint32_t order[kMostNodes];
    std::iota(order, order + n, 0u);
    std::sort(order, order + n, [&](uint32_t a, uint32_t b) { return compare(a, b) < 0; });
    Colouring next;
    uint32_t cell = 0;
    for (uint32_t i = 0; i < n; ++i) {
      if (i > 0 && compare(order[i - 1], order[i]) != 0) ++cell;
      next.of[order[i]] = static_cast<uint8_t>(cell);
    }
    next.cells = n == 0 ? 0 : cell + 1;
    if (next.cells == colours.cells) return;
    colours = next;
  }
}

// Whether exchanging a and b maps the graph onto itself.
bool AreTwins(const SmallGraph& graph, uint32_t a, uint32_t b) {
  const uint64_t rest = ~(uint64_t{1} << a | uint64_t{1} << b);
  return (graph.rows[a] & rest) == (graph.rows[b] & rest);
}

class CanonicalSearch {
 public:
  explicit CanonicalSearch(const SmallGraph& graph) : graph_(graph) {}

  SmallGraph Run() {
    Visit({});
    return best_;
  }

 private:
  void Visit(Colouring colours) {
    Refine(graph_, colours);
    if (colours.cells >= graph_.nodes) return Leaf(colours);
    const uint32_t cell = FirstLargeCell(colours);
    uint64_t tried = 0;
    for (uint32_t v = 0; v < graph_.nodes; ++v) {
      if (colours.of[v] != cell || HasTwinIn(tried, v)) continue;
      tried |= uint64_t{1} << v;
      Colouring next = colours;
      for (uint32_t i = 0; i < graph_.nodes; ++i) {
        if (i != v && next.of[i] >= cell) ++next.of[i];
      }
      ++next.cells;
      Visit(next);
    }
  }

  uint32_t FirstLargeCell(const Colouring& colours) const {
    uint32_t sizes[kMostNodes] = {};
    for (uint32_t i = 0; i < graph_.nodes; ++i) ++sizes[colours.of[i]];
    uint32_t cell = 0;
    while (sizes[cell] < 2) ++cell;
    return cell;
  }

  bool HasTwinIn(uint64_t tried, uint32_t v) const {
    for (; tried != 0; tried &= tried - 1) {
      if (AreTwins(graph_, static_cast<uint32_t>(std::countr_zero(tried)), v)) return true;
    }
    return false;
  }

  // Every node has its own colour, which becomes its number.
  void Leaf(const Colouring& colours) {
    SmallGraph relabelled;
    relabelled.nodes = graph_.nodes;
    for (uint32_t i = 0; i < graph_.nodes; ++i) {
      uint64_t row = 0;
      for (uint64_t left = graph_.rows[i]; left != 0; left &= left - 1) {
        row |= uint64_t{1} << colours.of[static_cast<uint32_t>(std::countr_zero(left))];
      }
      relabelled.rows[colours.of[i]] = row;
    }
    if (!found_ || relabelled.rows < best_.rows) best_ = relabelled;
    found_ = true;
  }

  const SmallGraph& graph_;
  SmallGraph best_;
  bool found_ = false;
};

// The upper triangle of a graph of at most 11 nodes as one number, and back.
uint64_t TriangleOf(const SmallGraph& graph) {
  uint64_t code = 0;
  for (uint32_t j = 1, bit = 0; j < graph.nodes; ++j) {
    for (uint32_t i = 0; i < j; ++i, ++bit) code |= static_cast<uint64_t>(graph.HasEdge(i, j)) << bit;
  }
  return code;
}

SmallGraph FromTriangle(uint64_t code, uint32_t n) {
  SmallGraph graph;
  graph.nodes = n;
  for (uint32_t j = 1, bit = 0; j < n; ++j) {
    for (uint32_t i = 0; i < j; ++i, ++bit) {
      if ((code >> bit & 1) != 0) graph.AddEdge(i, j);
    }
  }
  return graph;
}

void SortUnique(std::vector<uint64_t>& codes) {
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
}

// Codes of all graphs of n nodes from those of n − 1.
std::vector<uint64_t> Extended(const Context& context, const std::vector<uint64_t>& smaller, uint32_t n) {
  constexpr size_t kParentsPerTask = 16;
  const size_t tasks = (smaller.size() + kParentsPerTask - 1) / kParentsPerTask;
  std::vector<std::vector<uint64_t>> found(tasks);
  ParallelTasks(context, tasks, [&](size_t task, uint32_t) {
    const size_t end = std::min(smaller.size(), (task + 1) * kParentsPerTask);
    for (size_t parent = task * kParentsPerTask; parent < end; ++parent) {
      for (uint64_t neighbours = 0; neighbours < uint64_t{1} << (n - 1); ++neighbours) {
        SmallGraph graph = FromTriangle(smaller[parent], n - 1);
        graph.nodes = n;
        for (uint64_t left = neighbours; left != 0; left &= left - 1) {
          graph.AddEdge(n - 1, static_cast<uint32_t>(std::countr_zero(left)));
        }
        found[task].push_back(TriangleOf(CanonicalForm(graph)));
      }
    }
    SortUnique(found[task]);
  });
  std::vector<uint64_t> codes;
  for (const auto& part : found) codes.insert(codes.end(), part.begin(), part.end());
  SortUnique(codes);
  return codes;
}

}  // namespace

SmallGraph CanonicalForm(const SmallGraph& graph) { return CanonicalSearch(graph).Run(); }

std::vector<SmallGraph> AllGraphs(const Context& context, uint32_t n) {
  L2GCN_ASSERT(n >= 1 && n <= 8);
  std::vector<uint64_t> codes = {0};
  for (uint32_t size = 2; size <= n; ++size) codes = Extended(context, codes, size);
  std::vector<SmallGraph> graphs;
  for (const uint64_t code : codes) graphs.push_back(FromTriangle(code, n));
  return graphs;
}

std::string ToGraph6(const SmallGraph& graph) {
  std::string text(1, static_cast<char>(graph.nodes + 63));
  if (graph.nodes > 62)
    text = {'~', '?', static_cast<char>((graph.nodes >> 6) + 63), static_cast<char>((graph.nodes & 63) + 63)};
  uint32_t bits = 0, filled = 0;
  for (uint32_t j = 1; j < graph.nodes; ++j) {
    for (uint32_t i = 0; i < j; ++i) {
      bits = bits << 1 | static_cast<uint32_t>(graph.HasEdge(i, j));
      if (++filled == 6) text += static_cast<char>(bits + 63), bits = 0, filled = 0;
    }
  }
  if (filled > 0) text += static_cast<char>((bits << (6 - filled)) + 63);
  return text;
}

}  // namespace l2gcn::capacity
