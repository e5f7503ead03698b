// Builds the operator Â of a graph. With A the (weighted) adjacency and D the degrees of A + I:
//
//   row+i   D⁻¹(A+I) + I      the released program's operator, default of preset `paper`
//   row     D⁻¹(A+I)
//   sym     D^-½(A+I)D^-½
//   sum     A + I
//   mean    D⁻¹A, with the degrees of A: the mean over neighbours alone
//   none    I                 no neighbours: layers are those of a plain perceptron
//
// An isolated node keeps its own feature (mean: has zeros). A self loop kept in A counts as an edge besides the added I.
#pragma once

#include <span>

#include "core/propagation.h"
#include "l2gcn/choices.h"
#include "l2gcn/context.h"
#include "l2gcn/graph.h"

namespace l2gcn {

// Shares the graph's arrays (none: has no entries); only the scales (8–12 bytes a node) are new.
Propagation MakePropagation(const Context& context, const Graph& graph, Adjacency norm);

// The mean over a node's neighbours without itself, 0 for an isolated node; weights are not looked at
// (GraphSAGE).
Propagation MakeNeighbourMean(const Context& context, const Graph& graph);

// The rows of some nodes alone: row r of the result's product is row nodes[r] of a's. A node's own feature is
// one of the entries.
Propagation RowsOf(const Context& context, const Propagation& a, std::span<const uint32_t> nodes);

// Â + λ·diag(Â) (Cluster-GCN).
void EnhanceDiagonal(double lambda, Propagation& a);

}  // namespace l2gcn
