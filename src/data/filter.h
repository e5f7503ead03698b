// Restricts a data set to some of its nodes: graph, features, labels, splits and names together.
#pragma once

#include <span>

#include "l2gcn/dataset.h"

namespace l2gcn {

// Node keep[k] (distinct) becomes k; its original id is kept.
Dataset KeepNodes(const Context& context, const Dataset& dataset, std::span<const uint32_t> keep);

// options.min_degree first, once, then options.largest_component; a note tells what went. Ties take the
// component with the smallest node.
Dataset ApplyFilters(const Context& context, Dataset dataset, const OpenOptions& options);

}  // namespace l2gcn
