#include "data/relations.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/error_format.h"
#include "core/usable.h"
#include "graph/build.h"
#include "graph/transpose.h"

namespace l2gcn {

std::vector<Graph> GraphsNamed(const std::vector<std::string>& names, const Graph& all,
                               std::span<const Relation> relations, const std::string& dataset) {
  std::vector<Graph> graphs;
  for (const std::string& name : names) {
    const auto found =
        std::find_if(relations.begin(), relations.end(), [&](const Relation& r) { return r.name == name; });
    if (found != relations.end()) {
      graphs.push_back(found->graph);
      continue;
    }
    if (name == kAllEdges) {
      graphs.push_back(all);
      continue;
    }
    std::vector<std::string> known = {kAllEdges};
    for (const Relation& relation : relations) known.push_back(relation.name);
    ThrowUsage("--relations: {} has no relation '{}'; it has {}", dataset, name, fmt::join(known, ", "));
  }
  return graphs;
}

void SplitDirections(const Context& context, Dataset& dataset) {
  if (!dataset.graph.directed) return;
  std::vector<Relation> directed = std::move(dataset.relations);
  if (directed.empty()) directed.push_back({"", dataset.graph});
  dataset.relations.clear();
  for (Relation& relation : directed) {
    context.CheckCancelled();
    const std::string prefix = relation.name.empty() ? "" : relation.name + "/";
    dataset.relations.push_back({prefix + "in", Transposed(context, relation.graph)});
    dataset.relations.push_back({prefix + "out", std::move(relation.graph)});
  }
  dataset.graph = Symmetrised(context, dataset.graph);
}

void JoinRelations(const Context& context, Dataset& dataset) {
  std::vector<uint32_t> source, target;
  std::vector<float> weights;
  for (const Relation& relation : dataset.relations) {
    const Graph& graph = relation.graph;
    for (uint32_t node = 0; node < graph.nodes; ++node) source.insert(source.end(), graph.degree(node), node);
    target.insert(target.end(), graph.indices.begin(), graph.indices.end());
    if (graph.weighted()) {
      weights.insert(weights.end(), graph.weights.begin(), graph.weights.end());
    } else if (dataset.graph.weighted()) {
      weights.insert(weights.end(), graph.entries(), 1.0f);
    }
  }
  const BuildOptions options{dataset.graph.directed, true, PlaceOf(dataset)};
  if (!dataset.graph.weighted()) weights.clear();
  BuiltGraph built = BuildGraph(context, dataset.nodes(), source, target, weights, options);
  dataset.graph = std::move(built.graph);
  dataset.edges = built.edges;
}

std::vector<std::string> WidestRelations(const Dataset& dataset) {
  std::vector<std::string> names = {kAllEdges};
  for (const Relation& relation : dataset.relations) names.push_back(relation.name);
  return names;
}

void CheckRelations(const Dataset& dataset) {
  std::set<std::string> names;
  for (const Relation& relation : dataset.relations) {
    const bool reserved =
        relation.name.empty() || relation.name == kAllEdges || relation.name == kAutoRelations;
    if (reserved || !names.insert(relation.name).second) {
      ThrowInput("{}: a relation is called '{}'; expected names that differ, are not empty, and not {} or {}",
                 PlaceOf(dataset), relation.name, kAllEdges, kAutoRelations);
    }
    if (relation.graph.nodes != dataset.graph.nodes) {
      ThrowInput("{}: relation {} is of {} nodes, the data set of {}", PlaceOf(dataset), relation.name,
                 relation.graph.nodes, dataset.graph.nodes);
    }
  }
}

}  // namespace l2gcn
