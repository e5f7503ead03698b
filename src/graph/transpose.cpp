#include "graph/transpose.h"

#include "core/disk_memory.h"
#include "graph/build.h"

namespace l2gcn {

Graph Transposed(const Context& context, const Graph& graph) {
  Graph turned;
  turned.nodes = graph.nodes;
  turned.directed = graph.directed;
  turned.indptr = Array<uint64_t>::Zeros(size_t{graph.nodes} + 1);
  uint64_t* const indptr = turned.indptr.mutable_data();
  for (const uint32_t target : graph.indices) ++indptr[target + 1];
  for (size_t node = 0; node < graph.nodes; ++node) indptr[node + 1] += indptr[node];
  turned.indices = LargeArray<uint32_t>(context.disk, graph.entries());
  if (graph.weighted()) turned.weights = LargeArray<float>(context.disk, graph.entries());
  // Sources come in order, so that rows ascend.
  std::vector<uint64_t> next(indptr, indptr + graph.nodes);
  for (uint32_t source = 0; source < graph.nodes; ++source) {
    for (uint64_t e = graph.indptr[source]; e < graph.indptr[source + 1]; ++e) {
      const uint64_t place = next[graph.indices[e]]++;
      turned.indices.mutable_data()[place] = source;
      if (graph.weighted()) turned.weights.mutable_data()[place] = graph.weights[e];
    }
  }
  return turned;
}

Graph Symmetrised(const Context& context, const Graph& graph) {
  return BuildGraphFromCsr(context, graph.nodes, graph.indptr.span(), graph.indices.span(),
                           graph.weights.span(), {false, true, "graph"})
      .graph;
}

}  // namespace l2gcn
