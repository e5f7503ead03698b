#include "data/subset.h"

#include <algorithm>

#include "graph/build.h"

namespace l2gcn {
namespace {

Labels LabelsOf(const Labels& from, std::span<const uint32_t> nodes) {
  Labels to;
  to.multilabel = from.multilabel;
  to.classes = from.classes;
  if (!from.multilabel) {
    to.classes_of = Array<int32_t>::Allocate(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) to.classes_of.mutable_data()[i] = from.classes_of[nodes[i]];
    return to;
  }
  to.matrix = Array<uint8_t>::Allocate(nodes.size() * from.classes);
  to.labelled = Array<uint8_t>::Allocate(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::copy_n(from.matrix.data() + size_t{nodes[i]} * from.classes, from.classes,
                to.matrix.mutable_data() + i * from.classes);
    to.labelled.mutable_data()[i] = from.IsLabelled(nodes[i]) ? 1 : 0;
  }
  return to;
}

}  // namespace

Dataset SubsetDataset(const Context& context, const Dataset& dataset, std::span<const uint32_t> nodes) {
  Dataset subset;
  subset.name = dataset.name;
  subset.preset_row = dataset.preset_row;
  subset.format = dataset.format;
  subset.graph = InducedSubgraph(context, dataset.graph, nodes);
  subset.features = dataset.features.PickRows(nodes);
  subset.schema = dataset.schema;
  subset.labels = LabelsOf(dataset.labels, nodes);
  subset.class_names = dataset.class_names;
  return subset;
}

}  // namespace l2gcn
