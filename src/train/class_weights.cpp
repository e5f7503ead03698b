#include "train/class_weights.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/error_format.h"
#include "data/table.h"

namespace l2gcn {
namespace {

std::vector<uint64_t> TrainMembers(const Labels& labels, std::span<const uint32_t> nodes) {
  std::vector<uint64_t> members(labels.classes, 0);
  for (uint32_t node : nodes) {
    if (!labels.multilabel) ++members[static_cast<size_t>(labels.classes_of[node])];
    for (uint32_t c = 0; labels.multilabel && c < labels.classes; ++c) {
      members[c] += labels.matrix[size_t{node} * labels.classes + c];
    }
  }
  return members;
}

Array<float> BalancedWeights(const Labels& labels, std::span<const uint32_t> nodes) {
  const std::vector<uint64_t> members = TrainMembers(labels, nodes);
  const double all = static_cast<double>(nodes.size());
  Array<float> weights = Array<float>::Allocate(labels.classes);
  for (uint32_t c = 0; c < labels.classes; ++c) {
    const double own = static_cast<double>(members[c]);
    const double weight = labels.multilabel ? (all - own) / own : all / (labels.classes * own);
    const bool known = members[c] > 0 && weight > 0;  // a label that is always on has no zeros to equal
    weights.mutable_data()[c] = known ? static_cast<float>(weight) : 1.0f;
  }
  return weights;
}

Array<float> WeightsFromFile(const Context& context, const Dataset& dataset, const std::string& path) {
  const TableFormat format = SniffTable(path, true);
  const Table table = ReadTable(context, path, format, {0});
  if (table.columns.size() != 2 || !table.columns[1].numeric) {
    ThrowInput("{}: expected two columns, class and weight, the second of numbers", path);
  }
  std::vector<float> weights(dataset.labels.classes, 0);
  for (size_t row = 0; row < table.rows; ++row) {
    const std::string name(table.columns[0].text[row]);
    const float weight = table.columns[1].numbers[row];
    uint32_t label = 0;
    while (label < dataset.labels.classes && dataset.ClassName(label) != name) ++label;
    if (label == dataset.labels.classes) {
      std::vector<std::string> names;
      for (uint32_t c = 0; c < dataset.labels.classes; ++c) names.push_back(dataset.ClassName(c));
      ThrowInput("{}: {} has no class '{}'; did you mean '{}'?", path, dataset.name, name,
                 NearestName(name, names));
    }
    if (!(weight > 0) || !std::isfinite(weight))
      ThrowInput("{}: the weight of class '{}' must be a number above 0", path, name);
    if (weights[label] > 0) ThrowInput("{}: class '{}' stands twice", path, name);
    weights[label] = weight;
  }
  for (uint32_t c = 0; c < dataset.labels.classes; ++c) {
    if (weights[c] == 0)
      ThrowInput("{}: no weight for class '{}' of {}", path, dataset.ClassName(c), dataset.name);
  }
  return Array<float>::CopyOf(weights);
}

}  // namespace

Array<float> ClassWeightsOf(const Context& context, const Dataset& dataset,
                            std::span<const uint32_t> train_nodes, const TrainConfig& config) {
  if (!config.WeighsClasses()) return {};
  if (config.balanced_classes) return BalancedWeights(dataset.labels, train_nodes);
  return WeightsFromFile(context, dataset, config.class_weights_file);
}

}  // namespace l2gcn
