// Labels as inputs: what is known of the nodes around a node, for the last layer to read beside its features.
//
//   Z_i = [ shares of the classes among the train nodes one step from i,
//           shares of the classes among the ends of the walks of two steps from i ]          (2 · classes)
//
// A node's own label is hidden exactly: walks that end where they began do not count. So a train node sees what
// a node without a label sees in its place, and nothing has to be held out in folds. Where no label is near, Z is
// 0. Edges count once, whatever their weight. Labels of other than train nodes are never read.
#pragma once

#include <cstdint>
#include <span>

#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// Z (nodes of `graph` × 2·classes). label_of (nodes of `graph`) says whose label each node has, −1: none that may
// be read.
Matrix LabelInputs(const Context& context, const Graph& graph, const Labels& labels,
                   std::span<const int64_t> label_of);

}  // namespace l2gcn
