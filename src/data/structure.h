// Features for a graph that brings none, from its structure alone: each node's degree and its neighbours'
// (logarithms, scaled to mean 0 and deviation 1), and where the node lies: random signs of all nodes averaged
// over one, two and three hops, each part of length 1 (as in FastRP, Chen et al. 2019).
//
// The degrees mean the same on every graph. The position is one in this graph: a model trained on it predicts
// for the other nodes of the same graph, and knows nothing but degrees of another. Guarantees: the same bits
// for any thread count and any run.
#pragma once

#include "l2gcn/dataset.h"

namespace l2gcn {

// `dataset` itself if it has features or no node; else a copy with features, and a note.
Dataset WithStructure(const Context& context, const Dataset& dataset);

}  // namespace l2gcn
