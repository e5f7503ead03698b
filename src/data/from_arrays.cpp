// MakeDataset: arrays of the caller's become a data set. Indices are checked and narrowed to 32 bits one
// array at a time, then the graph is built as every reader builds it; features are shared, and so are rows of
// a graph that need no building and have an owner; everything else is copied.
#include <algorithm>
#include <limits>

#include "core/error_format.h"
#include "core/usable.h"
#include "data/edge_relations.h"
#include "data/labels.h"
#include "data/node_types.h"
#include "graph/build.h"
#include "l2gcn/make_dataset.h"

namespace l2gcn {
namespace {

size_t LengthOf(const IndexSpan& indices) {
  return std::visit([](const auto& span) { return span.size(); }, indices);
}

// indices[i] as text, for messages.
std::string ValueAt(const IndexSpan& indices, size_t i) {
  return std::visit([&](const auto& span) { return std::to_string(span[i]); }, indices);
}

// Calls body(i, value) for every element; a value that int64_t cannot hold arrives as its maximum.
template <class Body>
void EachIndex(const IndexSpan& indices, const Body& body) {
  std::visit(
      [&](const auto& span) {
        for (size_t i = 0; i < span.size(); ++i) {
          const bool fits = std::in_range<int64_t>(span[i]);
          body(i, fits ? static_cast<int64_t>(span[i]) : std::numeric_limits<int64_t>::max());
        }
      },
      indices);
}

// Indices of 32 bits where they lie, or null. A negative one reads as a number no graph has.
const uint32_t* NarrowIndices(const IndexSpan& indices) {
  if (const auto* span = std::get_if<std::span<const uint32_t>>(&indices)) return span->data();
  if (const auto* span = std::get_if<std::span<const int32_t>>(&indices))
    return reinterpret_cast<const uint32_t*>(span->data());
  return nullptr;
}

// Whether rows are those of an undirected graph as it is stored: ascending, without repeats or self loops,
// each entry with its reverse of the same weight. Going through the rows in order, the reverses of a row's
// entries come in that order, too, so one place in each row, which only moves forward, finds them all.
bool AreRowsOfGraph(uint32_t nodes, std::span<const uint64_t> indptr, const uint32_t* indices,
                    std::span<const float> weights) {
  std::vector<uint64_t> next(indptr.begin(), indptr.end());  // of each row, the entry whose reverse is due
  for (uint32_t node = 0; node < nodes; ++node) {
    for (uint64_t e = indptr[node]; e < indptr[node + 1]; ++e) {
      const uint32_t other = indices[e];
      if (other >= nodes || other == node || (e > indptr[node] && indices[e - 1] >= other)) return false;
      const uint64_t reverse = next[other]++;
      if (reverse >= indptr[other + 1] || indices[reverse] != node) return false;
      if (!weights.empty() && weights[e] != weights[reverse]) return false;
    }
  }
  return true;
}

class ArraysToDataset {
 public:
  ArraysToDataset(const Context& context, DatasetArrays arrays)
      : context_(context), arrays_(std::move(arrays)) {}

  Dataset Make() {
    dataset_.name = arrays_.name;
    dataset_.preset_row = arrays_.preset_row;
    dataset_.format = kInMemoryFormat;
    if (arrays_.node_types.empty()) {
      nodes_ = CheckedNodeCount(arrays_.nodes == 0 ? arrays_.features.rows() : arrays_.nodes, arrays_.name);
      MakeGraph();
      dataset_.features = std::move(arrays_.features);
    } else {
      MakeNodeParts();
      MakeRelations();
    }
    MakeLabels();
    MakeSplit();
    MakeNames();
    ValidateDataset(context_, dataset_);
    if (!arrays_.one_way) SplitDirections(context_, dataset_);
    dataset_.checked = true;
    return std::move(dataset_);
  }

 private:
  void CheckLength(const std::string& what, size_t length, size_t expected) const {
    if (length != expected)
      ThrowInput("{}: {} has {} values; expected {}", arrays_.name, what, length, expected);
  }

  // Node numbers, each below nodes_, as the graph builder takes them.
  std::vector<uint32_t> NodeNumbers(const std::string& what, const IndexSpan& indices) const {
    return NumbersWithin(what, indices, {"", 0, nodes_});
  }

  // Node numbers of indices that count within a type.
  std::vector<uint32_t> NumbersWithin(const std::string& what, const IndexSpan& indices,
                                      const NodeType& type) const {
    std::vector<uint32_t> numbers(LengthOf(indices));
    EachIndex(indices, [&](size_t i, int64_t value) {
      if (value < 0 || value >= int64_t{type.count}) {
        ThrowInput("{}: {}[{}] is {}; expected a node from 0 to {}", arrays_.name, what, i,
                   ValueAt(indices, i), int64_t{type.count} - 1);
      }
      numbers[i] = type.first + static_cast<uint32_t>(value);
    });
    return numbers;
  }

  void MakeNodeParts() {
    if (arrays_.features.rows() > 0 || LengthOf(arrays_.source) + LengthOf(arrays_.indptr) > 0)
      ThrowInput("{}: give either node types and relations, or one graph and its features", arrays_.name);
    std::vector<std::string> names;
    for (const DatasetArrays::TypedRows& rows : arrays_.node_types) names.push_back(rows.name);
    const std::vector<NodeType> types = MakeNodeTypes(names, arrays_.name);
    std::vector<TypedPart> parts;
    for (size_t k = 0; k < types.size(); ++k) {
      DatasetArrays::TypedRows& rows = arrays_.node_types[k];
      if (rows.features.cols() == 0) rows.features = Features::None(rows.count);
      CheckLength("the features of " + rows.name, rows.features.rows(), rows.count);
      if (rows.count == 0) ThrowInput("{}: the node type {} has no nodes", arrays_.name, rows.name);
      if (!rows.columns.empty())
        CheckLength("the columns of " + rows.name, rows.columns.size(), rows.features.cols());
      TypedPart part{types[k], std::move(rows.features), {}};
      part.type.count = CheckedNodeCount(rows.count, arrays_.name);
      part.type.labelled = rows.labelled;
      if (rows.labelled && dataset_.schema.label.empty()) dataset_.schema.label = rows.name + ":y";
      for (size_t c = 0; c < part.features.cols(); ++c) {
        TableSchema::Column& column = part.schema.columns.emplace_back();
        column.name = rows.columns.empty() ? std::to_string(c) : rows.columns[c];
      }
      parts.push_back(std::move(part));
    }
    JoinNodeTypes(context_, std::move(parts), dataset_);
    nodes_ = dataset_.node_types.back().first + dataset_.node_types.back().count;
  }

  void MakeRelations() {
    std::vector<RelationEdges> edges;
    for (const DatasetArrays::TypedEdges& given : arrays_.relations) {
      const auto [source, target] = EndsOfRelation(dataset_.node_types, given.name);
      CheckLength(given.name + " target", LengthOf(given.target), LengthOf(given.source));
      if (!given.weights.empty())
        CheckLength(given.name + " weights", given.weights.size(), LengthOf(given.source));
      edges.push_back({given.name,
                       NumbersWithin(given.name + " source", given.source, dataset_.node_types[source]),
                       NumbersWithin(given.name + " target", given.target, dataset_.node_types[target]),
                       {given.weights.begin(), given.weights.end()}});
    }
    OpenOptions options;
    options.directed = arrays_.directed;
    options.keep_self_loops = arrays_.keep_self_loops;
    AttachRelations(context_, std::move(edges), options, dataset_);
    if (!arrays_.one_way) SplitDirections(context_, dataset_);
  }

  std::vector<uint64_t> RowOffsets() const {
    CheckLength("indptr", LengthOf(arrays_.indptr), size_t{nodes_} + 1);
    const auto entries = static_cast<int64_t>(LengthOf(arrays_.indices));
    std::vector<uint64_t> offsets(LengthOf(arrays_.indptr));
    int64_t before = 0;
    EachIndex(arrays_.indptr, [&](size_t i, int64_t value) {
      const bool ends_right = i == 0 ? value == 0 : i < nodes_ || value == entries;
      if (value < before || value > entries || !ends_right) {
        ThrowInput("{}: indptr[{}] is {}; expected offsets that rise from 0 to {}, the length of indices",
                   arrays_.name, i, ValueAt(arrays_.indptr, i), entries);
      }
      offsets[i] = static_cast<uint64_t>(before = value);
    });
    return offsets;
  }

  // The caller's rows as they are, where they need no building. Says whether they were taken.
  bool ShareRows() {
    const uint32_t* indices = NarrowIndices(arrays_.indices);
    if (arrays_.rows_owner == nullptr || indices == nullptr || arrays_.directed || arrays_.keep_self_loops)
      return false;
    const size_t entries = LengthOf(arrays_.indices);
    const std::vector<uint64_t> indptr = RowOffsets();
    if (!AreRowsOfGraph(nodes_, indptr, indices, arrays_.weights)) return false;
    Graph& graph = dataset_.graph;
    graph.nodes = nodes_;
    graph.indptr = Array<uint64_t>::CopyOf(indptr);
    graph.indices = Array<uint32_t>::Borrow(arrays_.rows_owner, indices, entries);
    if (!arrays_.weights.empty())
      graph.weights = Array<float>::Borrow(arrays_.rows_owner, arrays_.weights.data(), entries);
    dataset_.changes.entries_read = entries;
    dataset_.edges = entries / 2;
    return true;
  }

  void MakeGraph() {
    const bool rows = LengthOf(arrays_.indptr) + LengthOf(arrays_.indices) > 0;
    const bool edges = LengthOf(arrays_.source) + LengthOf(arrays_.target) > 0;
    if (rows && edges) {
      ThrowInput("{}: give either source and target, or indptr and indices, not both", arrays_.name);
    }
    const size_t count = LengthOf(rows ? arrays_.indices : arrays_.source);
    if (!rows) CheckLength("target", LengthOf(arrays_.target), count);
    if (!arrays_.weights.empty()) CheckLength("weights", arrays_.weights.size(), count);
    const size_t types = LengthOf(arrays_.edge_type);
    if (types > 0) CheckLength("edge_type", types, count);
    if (types > 0 && !arrays_.weight_columns.empty())
      ThrowInput("{}: edge_type and weight_columns exclude each other; leave one out", arrays_.name);
    if (types > 0 || !arrays_.weight_columns.empty()) return MakeRelations(rows, count);
    if (rows && ShareRows()) return;
    const BuildOptions options{arrays_.directed, arrays_.keep_self_loops, arrays_.name};
    BuiltGraph built =
        rows ? BuildGraphFromCsr(context_, nodes_, RowOffsets(), NodeNumbers("indices", arrays_.indices),
                                 arrays_.weights, options)
             : BuildGraph(context_, nodes_, NodeNumbers("source", arrays_.source),
                          NodeNumbers("target", arrays_.target), arrays_.weights, options);
    dataset_.graph = std::move(built.graph);
    dataset_.changes = built.changes;
    dataset_.self_loops = built.self_loops;
    dataset_.edges = built.edges;
  }

  // The row that each entry is in.
  std::vector<uint32_t> SourcesOfRows() const {
    const std::vector<uint64_t> offsets = RowOffsets();
    std::vector<uint32_t> sources(offsets.back());
    for (uint32_t node = 0; node < nodes_; ++node)
      std::fill(sources.begin() + static_cast<ptrdiff_t>(offsets[node]),
                sources.begin() + static_cast<ptrdiff_t>(offsets[node + 1]), node);
    return sources;
  }

  EdgeTypes TypesOfEdges() const {
    EdgeTypes types;
    const std::vector<std::string>& names = arrays_.edge_type_names;
    EachIndex(arrays_.edge_type, [&](size_t i, int64_t value) {
      if (!names.empty() && (value < 0 || value >= static_cast<int64_t>(names.size()))) {
        ThrowInput("{}: edge_type[{}] is {}; expected a number from 0 to {}, of edge_type_names",
                   arrays_.name, i, ValueAt(arrays_.edge_type, i), names.size() - 1);
      }
      types.Add(names.empty() ? ValueAt(arrays_.edge_type, i) : names[static_cast<size_t>(value)]);
    });
    return types;
  }

  // Edges of several types, or with several weights.
  void MakeRelations(bool rows, size_t count) {
    const std::vector<uint32_t> source = rows ? SourcesOfRows() : NodeNumbers("source", arrays_.source);
    const std::vector<uint32_t> target =
        NodeNumbers(rows ? "indices" : "target", rows ? arrays_.indices : arrays_.target);
    const EdgeTypes types = TypesOfEdges();
    if (!arrays_.weights.empty() && !arrays_.weight_columns.empty())
      ThrowInput("{}: weights and weight_columns exclude each other; leave one out", arrays_.name);
    for (const auto& [name, weights] : arrays_.weight_columns)
      CheckLength(name.c_str(), weights.size(), count);
    const EdgeArrays edges{
        nodes_, source, target, arrays_.weights, types.of.empty() ? nullptr : &types, arrays_.weight_columns};
    AttachEdges(context_, edges, {{arrays_.directed, arrays_.keep_self_loops, arrays_.name}, {}, false},
                dataset_);
  }

  void MakeLabels() {
    if (arrays_.targets.cols > 0) return MakeTargets();
    if (!arrays_.node_weights.empty())
      ThrowInput("{}: node_weights belong to targets, which are empty", arrays_.name);
    if (!arrays_.label_matrix.empty()) return MakeLabelSets();
    if (!arrays_.labelled.empty())
      ThrowInput("{}: labelled belongs to label_matrix, which is empty", arrays_.name);
    Labels& labels = dataset_.labels;
    labels.classes_of = Array<int32_t>::Filled(nodes_, -1);
    labels.classes = arrays_.classes;
    if (LengthOf(arrays_.classes_of) == 0) return;
    CheckLength("classes_of", LengthOf(arrays_.classes_of), nodes_);
    int32_t* classes_of = labels.classes_of.mutable_data();
    int64_t largest = -1;
    MinusOneRule rule;
    EachIndex(arrays_.classes_of, [&](size_t i, int64_t value) {
      const int64_t end =
          arrays_.classes > 0 ? arrays_.classes : int64_t{std::numeric_limits<int32_t>::max()};
      if (value < -1 || value >= end) {
        ThrowInput("{}: classes_of[{}] is {}; expected −1 (unlabelled) or a class from 0 to {}", arrays_.name,
                   i, ValueAt(arrays_.classes_of, i), end - 1);
      }
      classes_of[i] = static_cast<int32_t>(value);
      largest = std::max(largest, value);
      if (dataset_.IsPredicted(static_cast<uint32_t>(i))) rule.See(value);
    });
    if (rule.AreClasses() && arrays_.classes == 0 && arrays_.class_names.empty()) {
      rule.Note(context_, arrays_.name);
      for (uint32_t node = 0; node < nodes_; ++node) {
        if (classes_of[node] == -1 && dataset_.IsPredicted(node)) classes_of[node] = 0;
      }
      arrays_.class_names = {"-1", "1"};
    }
    // A class count in the millions from a stray value would make the classifier enormous.
    if (arrays_.classes == 0 && largest >= std::max<int64_t>(nodes_, 1)) {
      ThrowInput("{}: class {} in a set of {} nodes; number classes from 0 on, or set classes", arrays_.name,
                 largest, nodes_);
    }
    if (arrays_.classes == 0) labels.classes = static_cast<uint32_t>(largest + 1);
    CheckClassNames();
  }

  void MakeLabelSets() {
    if (LengthOf(arrays_.classes_of) > 0) {
      ThrowInput("{}: give either classes_of or label_matrix, not both", arrays_.name);
    }
    Labels& labels = dataset_.labels;
    const size_t columns = nodes_ == 0 ? 0 : arrays_.label_matrix.size() / nodes_;
    if (columns > std::numeric_limits<uint32_t>::max()) ThrowInput("{}: too many labels", arrays_.name);
    labels.multilabel = true;
    labels.classes = arrays_.classes > 0 ? arrays_.classes : static_cast<uint32_t>(columns);
    CheckLength("label_matrix", arrays_.label_matrix.size(), size_t{nodes_} * labels.classes);
    if (!arrays_.labelled.empty()) CheckLength("labelled", arrays_.labelled.size(), nodes_);
    labels.matrix = Array<uint8_t>::CopyOf(arrays_.label_matrix);
    labels.labelled = Array<uint8_t>::CopyOf(arrays_.labelled);
    CheckClassNames();
  }

  void MakeTargets() {
    if (LengthOf(arrays_.classes_of) > 0 || !arrays_.label_matrix.empty())
      ThrowInput("{}: give either targets, or classes_of or label_matrix, not both", arrays_.name);
    Labels& labels = dataset_.labels;
    CheckLength("targets", arrays_.targets.rows, nodes_);
    if (!arrays_.node_weights.empty()) CheckLength("node_weights", arrays_.node_weights.size(), nodes_);
    if (arrays_.targets.cols > std::numeric_limits<uint32_t>::max())
      ThrowInput("{}: too many targets", arrays_.name);
    labels.classes = static_cast<uint32_t>(arrays_.targets.cols);
    labels.targets = std::move(arrays_.targets);
    labels.node_weights = Array<float>::CopyOf(arrays_.node_weights);
    CheckClassNames();
  }

  void CheckClassNames() {
    if (!arrays_.class_names.empty()) {
      CheckLength("class_names", arrays_.class_names.size(), dataset_.labels.classes);
    }
    dataset_.class_names = std::move(arrays_.class_names);
  }

  void MakeSplit() {
    const std::pair<const char*, const IndexSpan*> parts[] = {
        {"train", &arrays_.train}, {"val", &arrays_.val}, {"test", &arrays_.test}};
    const bool lists = std::any_of(std::begin(parts), std::end(parts),
                                   [](const auto& part) { return LengthOf(*part.second) > 0; });
    if (lists && !arrays_.roles.empty()) {
      ThrowInput("{}: give either roles, or train, val and test, not both", arrays_.name);
    }
    if (!lists && arrays_.roles.empty()) return;
    Split split{"given", Array<uint8_t>::Zeros(nodes_)};
    uint8_t* roles = split.roles.mutable_data();
    if (!arrays_.roles.empty()) {
      CheckLength("roles", arrays_.roles.size(), nodes_);
      std::copy(arrays_.roles.begin(), arrays_.roles.end(), roles);
    }
    uint8_t role = 0;
    for (const auto& [name, numbers] : parts) {
      ++role;
      for (const uint32_t node : NodeNumbers(name, *numbers)) {
        if (roles[node] != 0 && roles[node] != role && lists) {
          ThrowInput("{}: node {} is in {} and in {}; expected one part a node", arrays_.name, node,
                     parts[roles[node] - 1].first, name);
        }
        roles[node] = role;
      }
    }
    dataset_.splits.push_back(std::move(split));
  }

  void MakeNames() {
    if (!arrays_.node_names.empty() && !arrays_.node_ids.empty()) {
      ThrowInput("{}: give either node_names or node_ids, not both", arrays_.name);
    }
    if (!arrays_.node_names.empty()) {
      CheckLength("node_names", arrays_.node_names.size(), nodes_);
      dataset_.node_names = NameTable::FromStrings(arrays_.node_names);
    }
    if (!arrays_.node_ids.empty()) {
      CheckLength("node_ids", arrays_.node_ids.size(), nodes_);
      dataset_.node_ids = Array<int64_t>::CopyOf(arrays_.node_ids);
    }
  }

  const Context& context_;
  DatasetArrays arrays_;
  uint32_t nodes_ = 0;
  Dataset dataset_;
};

}  // namespace

Dataset MakeDataset(const Context& context, DatasetArrays arrays) {
  CheckContext(context);
  return ArraysToDataset(context, std::move(arrays)).Make();
}

}  // namespace l2gcn
