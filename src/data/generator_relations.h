// Synthetic graphs whose labels depend on the kind of an edge: every relation leads from a node to nodes of one class, drawn
// for the node and the relation, and the label is the class that the first relation leads to. All relations look alike, so
// edges without their kind do not tell which of these classes it is.
//
// Relations are edge types, or directions, or both. Features tell a node's own class, as in other synthetic graphs.
#pragma once

#include "data/generator_graph.h"
#include "data/generator_shapes.h"
#include "l2gcn/generate.h"

namespace l2gcn {

// Whether the options ask for such a graph.
bool HasRelations(const GenerateOptions& options);

// Graph, relations and labels of a data set that has its features. Throws Error(kUsage) for a shape with label sets.
void DrawRelations(const Context& context, const GenerateOptions& options, const GeneratorPlan& plan,
                   const GeneratorLayout& layout, Dataset& dataset);

}  // namespace l2gcn
