// The same edges the other way round, or both ways.
#pragma once

#include "l2gcn/context.h"
#include "l2gcn/graph.h"

namespace l2gcn {

Graph Transposed(const Context& context, const Graph& graph);

// Each edge in both directions, with the larger weight of the two.
Graph Symmetrised(const Context& context, const Graph& graph);

}  // namespace l2gcn
