#include "graph/normalise.h"

#include <algorithm>
#include <cmath>

#include "core/disk_memory.h"
#include "core/error_format.h"
#include "core/threads.h"

namespace l2gcn {
namespace {

// Degree of `node` in A + loop·I; double, so that heavy nodes of weighted graphs keep their last edges.
double DegreeOf(const Graph& graph, uint32_t node, double loop) {
  if (!graph.weighted()) return loop + static_cast<double>(graph.degree(node));
  double degree = loop;
  for (uint64_t e = graph.indptr[node]; e < graph.indptr[node + 1]; ++e) {
    degree += static_cast<double>(graph.weights[e]);
  }
  return degree;
}

}  // namespace

Propagation MakePropagation(const Context& context, const Graph& graph, Adjacency norm) {
  Propagation result;
  result.nodes = graph.nodes;
  if (norm == Adjacency::kNone) {
    result.indptr = Array<uint64_t>::Zeros(size_t{graph.nodes} + 1);
    result.row_scale = result.self_scale = Array<float>::Filled(graph.nodes, 1.0f);
    return result;
  }
  result.indptr = graph.indptr;
  result.indices = graph.indices;
  result.weights = graph.weights;
  result.row_scale = Array<float>::Allocate(graph.nodes);
  result.self_scale = Array<float>::Allocate(graph.nodes);
  if (norm == Adjacency::kSym) result.col_scale = Array<float>::Allocate(graph.nodes);
  float* row = result.row_scale.mutable_data();
  float* self = result.self_scale.mutable_data();
  float* col = norm == Adjacency::kSym ? result.col_scale.mutable_data() : nullptr;
  ParallelFor(context, graph.nodes, 4096, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const double degree = DegreeOf(graph, static_cast<uint32_t>(i), norm == Adjacency::kMean ? 0 : 1);
      // Negative weights can cancel a degree: such a node aggregates nothing but itself.
      const double inverse = degree > 0 ? 1.0 / degree : 0.0;
      switch (norm) {
        case Adjacency::kRowPlusI:
          row[i] = static_cast<float>(inverse);
          self[i] = static_cast<float>(1.0 + inverse);
          break;
        case Adjacency::kRow:
          row[i] = self[i] = static_cast<float>(inverse);
          break;
        case Adjacency::kSym:
          row[i] = col[i] = static_cast<float>(std::sqrt(inverse));
          self[i] = static_cast<float>(inverse);
          break;
        case Adjacency::kSum:
          row[i] = self[i] = 1.0f;
          break;
        case Adjacency::kMean:
          row[i] = static_cast<float>(inverse);
          self[i] = 0;
          break;
        case Adjacency::kNone:
          break;  // returned above
      }
    }
  });
  return result;
}

Propagation MakeNeighbourMean(const Context& context, const Graph& graph) {
  Propagation result;
  result.nodes = graph.nodes;
  result.indptr = graph.indptr;
  result.indices = graph.indices;
  result.row_scale = Array<float>::Allocate(graph.nodes);
  result.self_scale = Array<float>::Zeros(graph.nodes);
  float* row = result.row_scale.mutable_data();
  ParallelFor(context, graph.nodes, 4096, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const uint64_t degree = graph.degree(static_cast<uint32_t>(i));
      row[i] = degree > 0 ? 1.0f / static_cast<float>(degree) : 0.0f;
    }
  });
  return result;
}

Propagation RowsOf(const Context& context, const Propagation& a, std::span<const uint32_t> nodes) {
  Propagation result;
  result.nodes = static_cast<uint32_t>(nodes.size());
  result.row_scale = Array<float>::Filled(nodes.size(), 1.0f);
  result.self_scale = Array<float>::Zeros(nodes.size());
  result.col_scale = a.col_scale;
  result.indptr = Array<uint64_t>::Zeros(nodes.size() + 1);
  uint64_t* indptr = result.indptr.mutable_data();
  const auto entries_of = [&](uint32_t node) {
    return a.indptr.empty() ? std::pair<uint64_t, uint64_t>{0, 0}
                            : std::pair{a.indptr[node], a.indptr[node + 1]};
  };
  for (size_t r = 0; r < nodes.size(); ++r) {
    const auto [begin, end] = entries_of(nodes[r]);
    indptr[r + 1] = indptr[r] + (end - begin) + 1;
  }
  result.indices = LargeArray<uint32_t>(context.disk, indptr[nodes.size()]);
  result.weights = LargeArray<float>(context.disk, indptr[nodes.size()]);
  ParallelFor(context, nodes.size(), 256, [&](size_t first, size_t last) {
    for (size_t r = first; r < last; ++r) {
      const uint32_t node = nodes[r];
      uint32_t* index = result.indices.mutable_data() + indptr[r];
      float* weight = result.weights.mutable_data() + indptr[r];
      const float own = a.self_scale[node] / (a.col_scale.empty() ? 1.0f : a.col_scale[node]);
      bool placed = false;
      const auto place_own = [&] {
        *index++ = node;
        *weight++ = own;
        placed = true;
      };
      const auto [begin, end] = entries_of(node);
      for (uint64_t e = begin; e < end; ++e) {
        if (!placed && a.indices[e] >= node) place_own();
        *index++ = a.indices[e];
        *weight++ = a.row_scale[node] * (a.weights.empty() ? 1.0f : a.weights[e]);
      }
      if (!placed) place_own();
    }
  });
  return result;
}

void EnhanceDiagonal(double lambda, Propagation& a) {
  for (float& self : a.self_scale.mutable_span()) self *= static_cast<float>(1.0 + lambda);
}

}  // namespace l2gcn
