// Extracts a part of a data set as a data set: the induced subgraph of chosen nodes with their features and
// labels.
#pragma once

#include <span>

#include "l2gcn/dataset.h"

namespace l2gcn {

// Node k of the result is nodes[k] (distinct). Splits and names are left out.
Dataset SubsetDataset(const Context& context, const Dataset& dataset, std::span<const uint32_t> nodes);

}  // namespace l2gcn
