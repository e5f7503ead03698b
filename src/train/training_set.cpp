#include "train/training_set.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/error_format.h"

namespace l2gcn {
namespace {

constexpr size_t kToldUnlearned = 3;

}  // namespace

std::vector<uint32_t> NodesWithRole(const Split& split, Role role) {
  std::vector<uint32_t> nodes;
  for (size_t i = 0; i < split.roles.size(); ++i) {
    if (split.roles[i] == static_cast<uint8_t>(role)) nodes.push_back(static_cast<uint32_t>(i));
  }
  return nodes;
}

SplitNodes::SplitNodes(Split of)
    : split(std::move(of)),
      train(NodesWithRole(split, Role::kTrain)),
      val(NodesWithRole(split, Role::kVal)) {}

void CheckTrainSplit(const Context& context, const Dataset& dataset, const SplitNodes& nodes) {
  const Labels& labels = dataset.labels;
  if (nodes.train.empty()) {
    ThrowInput("{}: split '{}' has no train node; choose another with --split", dataset.name,
               nodes.split.name);
  }
  if (labels.task() == Task::kRegression) return;  // FitTargetScaling checks targets
  std::vector<uint64_t> members(labels.classes, 0);
  for (uint32_t node : nodes.train) {
    if (!labels.multilabel) ++members[static_cast<size_t>(labels.classes_of[node])];
    for (uint32_t c = 0; labels.multilabel && c < labels.classes; ++c) {
      members[c] += labels.matrix[size_t{node} * labels.classes + c];
    }
  }
  std::vector<std::string> told;  // the first classes without a train node
  uint64_t unseen = 0;
  for (uint32_t c = 0; c < labels.classes; ++c) {
    if (members[c] == 0 && ++unseen <= kToldUnlearned) told.push_back(dataset.ClassName(c));
  }
  if (unseen == 0) return;
  context.Warn(fmt::format("{} of {} classes ha{} no train node in split '{}' and cannot be learned: {}{}",
                           unseen, labels.classes, unseen == 1 ? "s" : "ve", nodes.split.name,
                           fmt::join(told, ", "), unseen > told.size() ? ", …" : ""));
}

namespace {

void PickTargets(const Labels& labels, std::span<const uint32_t> nodes, Targets& targets) {
  targets.values = Array<float>::Allocate(nodes.size() * labels.classes);
  float* out = targets.values.mutable_data();
  for (const uint32_t node : nodes) out = std::copy_n(labels.targets.row(node), labels.classes, out);
  if (labels.node_weights.empty()) return;
  targets.node_weights = Array<float>::Allocate(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    targets.node_weights.mutable_data()[i] = labels.node_weights[nodes[i]];
}

}  // namespace

Targets TargetsOf(const Labels& labels, std::span<const uint32_t> nodes, Loss loss) {
  Targets targets;
  targets.loss = loss;
  targets.multilabel = labels.multilabel;
  targets.classes = labels.classes;
  if (labels.task() == Task::kRegression) {
    PickTargets(labels, nodes, targets);
  } else if (labels.multilabel) {
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
  for (const Relation& relation : dataset.relations) model.relations.push_back(relation.name);
  model.structure = dataset.structure;
  model.weighted = dataset.graph.weighted();
  trained.split = split;
  trained.result.seed = config.seed;
  return trained;
}

void LogHistory(const SeedResult::Layer& record, uint32_t layer,
                std::span<const SeedResult::ValidationPoint> validation, Progress& progress) {
  progress.losses = record.losses;
  progress.probabilities = record.probabilities;
  if (validation.empty() || validation.back().layer != layer || std::isnan(validation.back().f1)) return;
  progress.validation_epoch = validation.back().epoch;
  progress.validation_f1 = validation.back().f1;
}

}  // namespace l2gcn
