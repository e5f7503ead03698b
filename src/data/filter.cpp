#include "data/filter.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/error_format.h"
#include "graph/build.h"

namespace l2gcn {
namespace {

template <class T>
Array<T> PickRows(const Array<T>& rows, size_t width, std::span<const uint32_t> keep) {
  if (rows.empty()) return {};
  Array<T> picked = Array<T>::Allocate(keep.size() * width);
  for (size_t k = 0; k < keep.size(); ++k) {
    std::copy_n(rows.data() + size_t{keep[k]} * width, width, picked.mutable_data() + k * width);
  }
  return picked;
}

// Union by path halving: the root of a component is its smallest node.
std::vector<uint32_t> LargestComponent(const Graph& graph) {
  std::vector<uint32_t> parent(graph.nodes);
  std::iota(parent.begin(), parent.end(), 0u);
  const auto root = [&](uint32_t node) {
    while (parent[node] != node) node = parent[node] = parent[parent[node]];
    return node;
  };
  for (uint32_t u = 0; u < graph.nodes; ++u) {
    for (uint64_t e = graph.indptr[u]; e < graph.indptr[u + 1]; ++e) {
      const uint32_t a = root(u), b = root(graph.indices[e]);
      parent[std::max(a, b)] = std::min(a, b);
    }
  }
  std::vector<uint32_t> size(graph.nodes, 0);
  for (uint32_t node = 0; node < graph.nodes; ++node) ++size[root(node)];
  const auto largest = static_cast<uint32_t>(std::max_element(size.begin(), size.end()) - size.begin());
  std::vector<uint32_t> keep;
  for (uint32_t node = 0; node < graph.nodes; ++node) {
    if (root(node) == largest) keep.push_back(node);
  }
  return keep;
}

// `keep` ascends.
std::vector<NodeType> KeptTypes(std::vector<NodeType> types, std::span<const uint32_t> keep) {
  uint32_t next = 0;
  for (NodeType& type : types) {
    const auto kept =
        std::count_if(keep.begin(), keep.end(), [&](uint32_t node) { return type.Holds(node); });
    type.first = next;
    type.count = static_cast<uint32_t>(kept);
    next += type.count;
  }
  return types;
}

}  // namespace

Dataset KeepNodes(const Context& context, const Dataset& dataset, std::span<const uint32_t> keep) {
  Dataset kept;
  kept.name = dataset.name;
  kept.preset_row = dataset.preset_row;
  kept.format = dataset.format;
  kept.inductive = dataset.inductive;
  kept.path = dataset.path;
  kept.graph = InducedSubgraph(context, dataset.graph, keep);
  for (const Relation& relation : dataset.relations)
    kept.relations.push_back({relation.name, InducedSubgraph(context, relation.graph, keep)});
  kept.edges = CountUndirectedEdges(context, kept.graph);
  kept.changes = dataset.changes;
  kept.self_loops = dataset.self_loops;
  kept.node_types = KeptTypes(dataset.node_types, keep);
  kept.features = dataset.features.PickRows(keep);
  kept.schema = dataset.schema;
  kept.labels.multilabel = dataset.labels.multilabel;
  kept.labels.classes = dataset.labels.classes;
  kept.labels.classes_of = PickRows(dataset.labels.classes_of, 1, keep);
  kept.labels.matrix = PickRows(dataset.labels.matrix, dataset.labels.classes, keep);
  kept.labels.labelled = PickRows(dataset.labels.labelled, 1, keep);
  const Matrix& targets = dataset.labels.targets;
  kept.labels.targets = {PickRows(targets.values, targets.cols, keep), targets.cols > 0 ? keep.size() : 0,
                         targets.cols};
  kept.labels.node_weights = PickRows(dataset.labels.node_weights, 1, keep);
  for (const Split& split : dataset.splits)
    kept.splits.push_back({split.name, PickRows(split.roles, 1, keep)});
  for (const Split::Column& column : dataset.split_columns)
    kept.split_columns.push_back({column.name, PickRows(column.places, 1, keep)});
  kept.class_names = dataset.class_names;
  if (!dataset.node_names.empty()) {
    std::vector<std::string> names;
    for (const uint32_t node : keep) names.emplace_back(dataset.node_names[node]);
    kept.node_names = NameTable::FromStrings(names);
  }
  kept.node_ids = Array<int64_t>::Allocate(keep.size());
  for (size_t k = 0; k < keep.size(); ++k) {
    kept.node_ids.mutable_data()[k] = dataset.node_ids.empty() ? int64_t{keep[k]} : dataset.node_ids[keep[k]];
  }
  return kept;
}

Dataset ApplyFilters(const Context& context, Dataset dataset, const OpenOptions& options) {
  const auto keep_only = [&](const std::vector<uint32_t>& keep, const char* what) {
    if (keep.size() == dataset.nodes()) return;
    if (keep.empty()) ThrowUsage("{}: {} leaves no node", dataset.name, what);
    const uint64_t before = dataset.edges;
    Dataset kept = KeepNodes(context, dataset, keep);
    context.Note(fmt::format("{}: {} keeps {} of {} nodes and {} of {} edges", dataset.name, what,
                             keep.size(), dataset.nodes(), kept.edges, before));
    dataset = std::move(kept);
  };
  if (options.min_degree > 0) {
    std::vector<uint32_t> keep;
    for (uint32_t node = 0; node < dataset.nodes(); ++node) {
      if (dataset.graph.degree(node) >= options.min_degree) keep.push_back(node);
    }
    keep_only(keep, "--min-degree");
  }
  if (options.largest_component && dataset.nodes() > 0)
    keep_only(LargestComponent(dataset.graph), "--largest-component");
  return dataset;
}

}  // namespace l2gcn
