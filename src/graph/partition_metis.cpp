#include <metis.h>

#include <limits>

#include "core/error_format.h"
#include "graph/build.h"
#include "graph/partition.h"

namespace l2gcn {
namespace {

// METIS wants no self loops and every edge in both directions.
Graph Symmetric(const Context& context, const Graph& graph) {
  bool clean = !graph.directed;
  for (uint32_t i = 0; clean && i < graph.nodes; ++i) {
    for (uint64_t e = graph.indptr[i]; e < graph.indptr[i + 1]; ++e) clean = clean && graph.indices[e] != i;
  }
  if (clean) return graph;
  return BuildGraphFromCsr(context, graph.nodes, graph.indptr.span(), graph.indices.span(), {}, {}).graph;
}

}  // namespace

std::string MetisBuilt() {
  return fmt::format("{}.{}.{}", METIS_VER_MAJOR, METIS_VER_MINOR, METIS_VER_SUBMINOR);
}

std::vector<uint32_t> PartitionGraph(const Context& context, const Graph& graph, uint32_t parts) {
  std::vector<uint32_t> part_of(graph.nodes, 0);
  if (parts <= 1) return part_of;
  const Graph whole = Symmetric(context, graph);
  if (whole.entries() > static_cast<uint64_t>(std::numeric_limits<idx_t>::max())) {
    ThrowInput(
        "clustergcn: METIS was built with {}-bit indices and cannot hold {} directed edges; use another "
        "method",
        IDXTYPEWIDTH, whole.entries());
  }
  std::vector<idx_t> indptr(whole.indptr.begin(), whole.indptr.end());
  std::vector<idx_t> indices(whole.indices.begin(), whole.indices.end());
  std::vector<idx_t> part(whole.nodes);
  idx_t nodes = static_cast<idx_t>(whole.nodes), constraints = 1, wanted = static_cast<idx_t>(parts), cut = 0;
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 0;
  const int status =
      METIS_PartGraphKway(&nodes, &constraints, indptr.data(), indices.data(), nullptr, nullptr, nullptr,
                          &wanted, nullptr, nullptr, options, &cut, part.data());
  if (status != METIS_OK) {
    ThrowRuntime("METIS could not cut {} nodes into {} parts{}", whole.nodes, parts,
                 status == METIS_ERROR_MEMORY ? ": out of memory" : fmt::format(" (status {})", status));
  }
  for (uint32_t i = 0; i < graph.nodes; ++i) part_of[i] = static_cast<uint32_t>(part[i]);
  return part_of;
}

}  // namespace l2gcn
