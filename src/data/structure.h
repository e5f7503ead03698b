// Features of a graph without any, computed from its structure alone: each node's degree and its neighbours'
// (logarithms, scaled to mean 0 and deviation 1), and where the node lies: random signs of all nodes averaged
// over one, two and three hops, each part of length 1 (as in FastRP, Chen et al. 2019).
//
// Degrees transfer between graphs. Positions do not: a model trained on them predicts for other nodes of the same graph, and
// uses degrees alone on another graph. Guarantees: the same bits
// for any thread count and any run.
#pragma once

#include "l2gcn/dataset.h"

namespace l2gcn {

// `dataset` itself if it has features or no node; else a copy with features, and a note.
Dataset WithStructure(const Context& context, const Dataset& dataset);

}  // namespace l2gcn
