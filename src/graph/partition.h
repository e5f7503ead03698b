// Partitions a graph into parts of about equal size with few edges between them, by METIS (k-way). A build without METIS throws
// an error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "l2gcn/context.h"
#include "l2gcn/graph.h"

namespace l2gcn {

// Part of each node, 0 … parts−1 (METIS may leave one empty). The same graph gives the same parts. Directions
// and weights of edges are not looked at. Throws Error(kUsage) without METIS, Error(kInput) for a graph it
// cannot hold.
std::vector<uint32_t> PartitionGraph(const Context& context, const Graph& graph, uint32_t parts);

// METIS' version, or "no".
std::string MetisBuilt();

}  // namespace l2gcn
