// Relations of a data set: finding their graphs by name, and making them from directed graphs.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "l2gcn/dataset.h"

namespace l2gcn {

// Edge types that get a relation each; the rarest beyond are one relation, kOtherEdges.
inline constexpr size_t kMostEdgeTypes = 32;
inline constexpr const char* kOtherEdges = "other";

// The graphs called `names`, in order; kAllEdges is `all`. Throws Error(kUsage) for a name that no relation has.
std::vector<Graph> GraphsNamed(const std::vector<std::string>& names, const Graph& all,
                               std::span<const Relation> relations, const std::string& dataset);

// Relations "in" and "out" of a directed graph, or of each directed relation, and the symmetric graph in place of the directed
// one. Data sets whose graph is not directed stay as they are.
void SplitDirections(const Context& context, Dataset& dataset);

// The data set's graph becomes that of its relations together, where some were taken out.
void JoinRelations(const Context& context, Dataset& dataset);

// All sets of relations that trials try, together (train/architecture_trial.h).
std::vector<std::string> WidestRelations(const Dataset& dataset);

// Calls visit(array) for the arrays of all graphs, once for those that several graphs share.
template <class Visit>
void VisitGraphArrays(const Dataset& dataset, const Visit& visit) {
  std::set<const void*> seen;
  const auto once = [&](const auto& array) {
    if (array.empty() || seen.insert(array.data()).second) visit(array);
  };
  const auto visit_graph = [&](const Graph& graph) {
    once(graph.indptr);
    once(graph.indices);
    once(graph.weights);
  };
  visit_graph(dataset.graph);
  for (const Relation& relation : dataset.relations) visit_graph(relation.graph);
}

// Throws Error(kInput) for names that repeat, are empty or mean something else, and for graphs of other nodes.
void CheckRelations(const Dataset& dataset);

}  // namespace l2gcn
