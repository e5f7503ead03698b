#include "data/edge_relations.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "core/error_format.h"
#include "data/reader.h"

namespace l2gcn {
namespace {

constexpr uint32_t kDropped = ~0u;
constexpr size_t kToldTypes = 8;

std::string FirstTypes(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kToldTypes);
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown), ", "),
                     shown < names.size() ? ", …" : "");
}

// Relations by name, ascending, and the one that each type goes to.
struct Grouping {
  std::vector<std::string> names;
  std::vector<uint32_t> of_type;
};

// `kept` are the types with a relation of their own; the others go to kOtherEdges if `groups`, else they are dropped.
Grouping GroupTypes(const EdgeTypes& types, std::vector<std::string> kept, bool groups) {
  if (groups) kept.emplace_back(kOtherEdges);
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  Grouping grouping;
  const auto place = [&](const std::string& name) {
    const auto found = std::lower_bound(kept.begin(), kept.end(), name);
    return found != kept.end() && *found == name ? static_cast<uint32_t>(found - kept.begin()) : kDropped;
  };
  for (const std::string& name : types.names) {
    const uint32_t own = place(name);
    grouping.of_type.push_back(own != kDropped || !groups ? own : place(kOtherEdges));
  }
  grouping.names = std::move(kept);
  return grouping;
}

// The types of a model; others are its "other" edges, or an error, or left out.
Grouping GroupAsKnown(const Context& context, const EdgeTypes& types, const RelationOptions& options) {
  const auto knows = [&](const std::string& name) {
    return std::find(options.known.begin(), options.known.end(), name) != options.known.end();
  };
  std::vector<std::string> unknown;
  std::copy_if(types.names.begin(), types.names.end(), std::back_inserter(unknown),
               [&](const std::string& name) { return !knows(name); });
  const bool groups = knows(kOtherEdges);
  if (!unknown.empty() && !groups) {
    const std::string told = fmt::format("{}: the model does not know the edge types {}", options.build.where,
                                         FirstTypes(unknown));
    if (!options.drop_unknown)
      ThrowInput("{}; it knows {}. --allow-unmatched goes on without them", told, FirstTypes(options.known));
    context.Note(told + "; their edges are left out");
  }
  return GroupTypes(types, options.known, groups);
}

// The most frequent types, and the rest together where there are many.
Grouping GroupByCount(const Context& context, const EdgeTypes& types, const RelationOptions& options) {
  std::vector<uint64_t> counts(types.names.size(), 0);
  for (const uint32_t type : types.of) ++counts[type];
  std::vector<uint32_t> order(types.names.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return counts[a] != counts[b] ? counts[a] > counts[b] : types.names[a] < types.names[b];
  });
  const bool groups = order.size() > kMostEdgeTypes;
  std::vector<std::string> kept;
  for (const uint32_t type : order) {
    if (!groups || (kept.size() + 1 < kMostEdgeTypes && types.names[type] != kOtherEdges))
      kept.push_back(types.names[type]);
  }
  if (groups) {
    context.Warn(fmt::format(
        "{}: {} edge types; the {} most frequent are relations of their own, the rest is one named {}",
        options.build.where, order.size(), kept.size(), kOtherEdges));
  }
  return GroupTypes(types, std::move(kept), groups);
}

void AddTypes(const Context& context, const EdgeArrays& edges, const RelationOptions& options,
              Dataset& dataset) {
  const EdgeTypes& types = *edges.types;
  const Grouping grouping =
      options.known.empty() ? GroupByCount(context, types, options) : GroupAsKnown(context, types, options);
  const bool drops =
      std::find(grouping.of_type.begin(), grouping.of_type.end(), kDropped) != grouping.of_type.end();
  if (grouping.names.size() == 1 && !drops) {
    dataset.relations.push_back({grouping.names.front(), dataset.graph});
    return;
  }
  std::vector<uint64_t> counts(grouping.names.size(), 0);
  for (const uint32_t type : types.of) {
    if (grouping.of_type[type] != kDropped) ++counts[grouping.of_type[type]];
  }
  for (uint32_t relation = 0; relation < grouping.names.size(); ++relation) {
    context.CheckCancelled();
    std::vector<uint32_t> source, target;
    std::vector<float> weights;
    source.reserve(counts[relation]);
    target.reserve(counts[relation]);
    for (size_t e = 0; e < types.of.size(); ++e) {
      if (grouping.of_type[types.of[e]] != relation) continue;
      source.push_back(edges.source[e]);
      target.push_back(edges.target[e]);
      if (!edges.weights.empty()) weights.push_back(edges.weights[e]);
    }
    Graph graph = BuildGraph(context, edges.nodes, source, target, weights, options.build).graph;
    dataset.relations.push_back({grouping.names[relation], std::move(graph)});
  }
  if (drops) JoinRelations(context, dataset);
}

// Relations of the same edges share their rows with the graph, which has no weights then.
void AddColumns(const Context& context, const EdgeArrays& edges, const RelationOptions& options,
                Dataset& dataset) {
  for (const auto& [name, weights] : edges.columns) {
    context.CheckCancelled();
    Graph graph = dataset.graph;
    graph.weights =
        BuildGraph(context, edges.nodes, edges.source, edges.target, weights, options.build).graph.weights;
    dataset.relations.push_back({name, std::move(graph)});
  }
  std::sort(dataset.relations.begin(), dataset.relations.end(),
            [](const Relation& a, const Relation& b) { return a.name < b.name; });
}

}  // namespace

uint32_t EdgeTypes::NumberOf(std::string_view name) {
  const auto [place, added] = numbers_.try_emplace(std::string(name), static_cast<uint32_t>(names.size()));
  if (added) names.emplace_back(name);
  return place->second;
}

void EdgeTypes::Add(std::string_view name) {
  // Edges often come sorted by type.
  of.push_back(!of.empty() && names[of.back()] == name ? of.back() : NumberOf(name));
}

void EdgeTypes::Append(EdgeTypes&& more) {
  std::vector<uint32_t> numbers;
  for (const std::string& name : more.names) numbers.push_back(NumberOf(name));
  for (const uint32_t type : more.of) of.push_back(numbers[type]);
  more.clear();
}

void EdgeTypes::clear() {
  names.clear();
  of.clear();
  numbers_.clear();
}

void AttachEdges(const Context& context, const EdgeArrays& edges, const RelationOptions& options,
                 Dataset& dataset) {
  AttachGraph(dataset,
              BuildGraph(context, edges.nodes, edges.source, edges.target, edges.weights, options.build));
  if (edges.types != nullptr) AddTypes(context, edges, options, dataset);
  if (!edges.columns.empty()) AddColumns(context, edges, options, dataset);
}

}  // namespace l2gcn
