// Matching the classes and relations of a data set to those of a model, by name.
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>

#include "core/error_format.h"
#include "core/usable.h"
#include "data/relations.h"
#include "l2gcn/model.h"

namespace l2gcn {
namespace {

constexpr size_t kToldClasses = 8;

std::string ModelClass(const Model& model, uint32_t c) {
  return model.class_names.empty() ? std::to_string(c) : model.class_names[c];
}

std::string Listed(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kToldClasses);
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown), ", "),
                     shown < names.size() ? ", …" : "");
}

// The table that holds the labels, where there is one; else the data set.
std::string PlaceOfLabels(const Dataset& dataset) {
  const TableSchema& schema = dataset.schema;
  return schema.label.empty() || schema.path.empty()
             ? dataset.name
             : fmt::format("{}: column {}", schema.path, schema.label);
}

// How messages call what a node has.
struct TaskWords {
  const char *labels, *one, *known, *left_out;
};
TaskWords WordsOf(Task task) {
  switch (task) {
    case Task::kClass:
      return {"one class a node", "class", "classes", "their nodes are"};
    case Task::kLabels:
      return {"several labels a node", "class", "labels", "they are"};
    case Task::kRegression:
      break;
  }
  return {"targets of a regression", "target", "targets", "they are"};
}

// Model class of each class of the data set; −1 where the model has none of that name.
std::vector<int32_t> ModelClasses(const Context& context, const Model& model, const Dataset& dataset) {
  const TaskWords words = WordsOf(dataset.labels.task());
  std::map<std::string, int32_t> known;
  for (uint32_t c = 0; c < model.classes; ++c) known.emplace(ModelClass(model, c), static_cast<int32_t>(c));
  std::vector<int32_t> to(dataset.labels.classes, -1);
  std::vector<uint8_t> met(model.classes, 0);
  std::vector<std::string> unknown, absent, own;
  for (uint32_t c = 0; c < dataset.labels.classes; ++c) {
    own.push_back(dataset.ClassName(c));
    const auto found = known.find(own.back());
    if (found == known.end()) {
      unknown.push_back(own.back());
    } else {
      to[c] = found->second;
      met[static_cast<size_t>(found->second)] = 1;
    }
  }
  for (uint32_t c = 0; c < model.classes; ++c) {
    if (met[c] == 0) absent.push_back(ModelClass(model, c));
  }
  if (absent.size() == model.classes) {
    ThrowInput("{}: shares no {} with the model: it has {}, the model knows {}", PlaceOfLabels(dataset),
               words.one, Listed(own), Listed(absent));
  }
  if (!unknown.empty())
    context.Note(fmt::format("{}: the model does not know the {} {}; {} not scored", PlaceOfLabels(dataset),
                             words.known, Listed(unknown), words.left_out));
  if (!absent.empty())
    context.Note(fmt::format("{}: {} of the model that do not occur in it: {}", PlaceOfLabels(dataset),
                             words.known, Listed(absent)));
  return to;
}

Matrix NoTargets(size_t nodes, uint32_t targets) {
  Matrix none = Matrix::Allocate(nodes, targets);
  std::fill_n(none.values.mutable_data(), none.values.size(), std::numeric_limits<float>::quiet_NaN());
  return none;
}

Labels MapClasses(const Labels& labels, const std::vector<int32_t>& to, uint32_t classes) {
  Labels mapped;
  mapped.classes = classes;
  mapped.classes_of = Array<int32_t>::Filled(labels.classes_of.size(), -1);
  int32_t* const out = mapped.classes_of.mutable_data();
  for (size_t i = 0; i < labels.classes_of.size(); ++i) {
    if (labels.classes_of[i] >= 0) out[i] = to[static_cast<size_t>(labels.classes_of[i])];
  }
  return mapped;
}

Labels MapLabelSets(const Labels& labels, const std::vector<int32_t>& to, uint32_t classes) {
  const size_t nodes = labels.classes == 0 ? 0 : labels.matrix.size() / labels.classes;
  Labels mapped;
  mapped.multilabel = true;
  mapped.classes = classes;
  mapped.labelled = labels.labelled;
  mapped.matrix = Array<uint8_t>::Zeros(nodes * classes);
  uint8_t* const out = mapped.matrix.mutable_data();
  for (size_t node = 0; node < nodes; ++node) {
    for (uint32_t c = 0; c < labels.classes; ++c) {
      if (to[c] >= 0)
        out[node * classes + static_cast<size_t>(to[c])] = labels.matrix[node * labels.classes + c];
    }
  }
  return mapped;
}

Labels MapTargets(const Labels& labels, const std::vector<int32_t>& to, uint32_t targets) {
  Labels mapped;
  mapped.classes = targets;
  mapped.targets = NoTargets(labels.targets.rows, targets);
  for (size_t node = 0; node < labels.targets.rows; ++node) {
    for (uint32_t c = 0; c < labels.classes; ++c) {
      if (to[c] >= 0)
        mapped.targets.mutable_row(node)[static_cast<size_t>(to[c])] = labels.targets.row(node)[c];
    }
  }
  return mapped;
}

Labels MapLabels(const Labels& labels, const std::vector<int32_t>& to, uint32_t classes) {
  switch (labels.task()) {
    case Task::kClass:
      return MapClasses(labels, to, classes);
    case Task::kLabels:
      return MapLabelSets(labels, to, classes);
    case Task::kRegression:
      break;
  }
  return MapTargets(labels, to, classes);
}

Labels Unlabelled(const Model& model, uint32_t nodes) {
  Labels labels;
  labels.multilabel = model.multilabel;
  labels.classes = model.classes;
  if (model.task() == Task::kRegression) {
    labels.targets = NoTargets(nodes, model.classes);
  } else if (model.multilabel) {
    labels.matrix = Array<uint8_t>::Zeros(size_t{nodes} * model.classes);
    labels.labelled = Array<uint8_t>::Zeros(nodes);
  } else {
    labels.classes_of = Array<int32_t>::Filled(nodes, -1);
  }
  return labels;
}

// Where no type has labels, the model's has: its label is called TYPE:COLUMN.
void MarkPredictedType(const Model& model, std::vector<NodeType>& types) {
  if (std::any_of(types.begin(), types.end(), [](const NodeType& type) { return type.labelled; })) return;
  for (NodeType& type : types) type.labelled = model.schema.label.starts_with(type.name + ":");
}

// Relations of the data set that the model's training did not have.
std::vector<std::string> UnknownRelations(const Model& model, const Dataset& dataset) {
  std::vector<std::string> unknown;
  for (const Relation& relation : dataset.relations) {
    if (std::find(model.relations.begin(), model.relations.end(), relation.name) == model.relations.end())
      unknown.push_back(relation.name);
  }
  return unknown;
}

Graph WithoutEdges(uint32_t nodes) {
  Graph graph;
  graph.nodes = nodes;
  graph.indptr = Array<uint64_t>::Zeros(size_t{nodes} + 1);
  return graph;
}

}  // namespace

Dataset AlignRelations(const Context& context, const Model& model, Dataset dataset, bool drop_unknown) {
  const std::vector<std::string>& read = model.config.relations;
  if (std::all_of(read.begin(), read.end(), [](const std::string& name) { return name == kAllEdges; }))
    return dataset;
  const std::vector<std::string> unknown = UnknownRelations(model, dataset);
  if (unknown.size() == dataset.relations.size()) {
    ThrowInput(
        "{}: {}; the model was trained on {}: open it with the options of the training, such as --edge-type "
        "or --directed",
        PlaceOf(dataset), unknown.empty() ? "has one relation" : "has the relations " + Listed(unknown),
        Listed(model.relations));
  }
  if (!unknown.empty() && !drop_unknown) {
    ThrowInput(
        "{}: the model does not know the relations {}; it was trained on {}. --allow-unmatched goes on "
        "without them",
        PlaceOf(dataset), Listed(unknown), Listed(model.relations));
  }
  if (!unknown.empty())
    context.Note(fmt::format("{}: the model does not know the relations {}; they are left out",
                             PlaceOf(dataset), Listed(unknown)));
  std::vector<Relation> aligned;
  std::vector<std::string> absent;
  for (const std::string& name : model.relations) {
    const auto found = std::find_if(dataset.relations.begin(), dataset.relations.end(),
                                    [&](const Relation& relation) { return relation.name == name; });
    if (found == dataset.relations.end()) absent.push_back(name);
    aligned.push_back(found == dataset.relations.end() ? Relation{name, WithoutEdges(dataset.nodes())}
                                                       : *found);
  }
  if (!absent.empty())
    context.Note(fmt::format("{}: relations of the model that do not occur in it: {}", PlaceOf(dataset),
                             Listed(absent)));
  dataset.relations = std::move(aligned);
  if (!unknown.empty()) JoinRelations(context, dataset);
  return dataset;
}

Dataset AlignLabels(const Context& context, const Model& model, Dataset dataset) {
  MarkPredictedType(model, dataset.node_types);
  const Labels& labels = dataset.labels;
  const bool same_names = model.class_names == dataset.class_names;
  if (labels.task() == model.task() && labels.classes == model.classes && same_names) return dataset;
  if (labels.classes == 0) {
    dataset.labels = Unlabelled(model, dataset.nodes());
  } else if (labels.task() != model.task()) {
    ThrowInput("{}: has {}, but the model was trained on {}", PlaceOfLabels(dataset),
               WordsOf(labels.task()).labels, WordsOf(model.task()).labels);
  } else {
    const std::vector<int32_t> to = ModelClasses(context, model, dataset);
    dataset.labels = MapLabels(labels, to, model.classes);
  }
  dataset.class_names = model.class_names;
  return dataset;
}

}  // namespace l2gcn
