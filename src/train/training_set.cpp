#include "train/training_set.h"

#include <algorithm>

#include "data/prepare.h"

namespace l2gcn {

Targets TargetsOf(const Labels& labels, std::span<const uint32_t> nodes) {
  Targets targets;
  targets.multilabel = labels.multilabel;
  targets.classes = labels.classes;
  if (labels.multilabel) {
    targets.matrix = Array<uint8_t>::Allocate(nodes.size() * labels.classes);
    uint8_t* out = targets.matrix.mutable_data();
    for (uint32_t node : nodes) {
      out = std::copy_n(labels.matrix.data() + size_t{node} * labels.classes, labels.classes, out);
    }
  } else {
    targets.classes_of = Array<int32_t>::Allocate(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i)
      targets.classes_of.mutable_data()[i] = labels.classes_of[nodes[i]];
  }
  return targets;
}

Trained BeginTrained(const Dataset& dataset, const Split& split, const TrainConfig& config) {
  Trained trained;
  Model& model = trained.model;
  model.config = config;
  model.features = static_cast<uint32_t>(dataset.features.cols());
  model.multilabel = dataset.labels.multilabel;
  model.classes = dataset.labels.classes;
  model.class_names = dataset.class_names;
  trained.split = split;
  trained.result.seed = config.seed;
  return trained;
}

Features PrepareFeatures(const Context& context, const Dataset& dataset,
                         std::span<const uint32_t> train_nodes, const TrainConfig& config,
                         Preparation& preparation) {
  std::vector<uint8_t> is_train(dataset.nodes(), 0);
  for (uint32_t node : train_nodes) is_train[node] = 1;
  preparation = FitPreparation(context, dataset.features, is_train, config.scale, config.pca, config.seed);
  return ApplyPreparation(context, preparation, dataset.features);
}

}  // namespace l2gcn
