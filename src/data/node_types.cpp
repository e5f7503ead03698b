#include "data/node_types.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/error_format.h"
#include "core/threads.h"
#include "data/reader.h"
#include "data/schema_features.h"
#include "graph/build.h"
#include "l2gcn/settings.h"

namespace l2gcn {
namespace {

constexpr const char* kTypeColumn = "type";
constexpr double kSparseTypesBelow = 0.1;  // features with a smaller share of non-zeros are kept sparse
constexpr size_t kTypedRows = 512;

std::vector<std::string> TypeNames(std::span<const NodeType> types) {
  std::vector<std::string> names;
  for (const NodeType& type : types) names.push_back(type.name);
  return names;
}

// The features of all parts side by side, with the type of each node behind them.
class JoinedRows {
 public:
  explicit JoinedRows(const std::vector<TypedPart>& parts) : parts_(parts) {
    for (const TypedPart& part : parts_) {
      first_feature_.push_back(width_);
      width_ += static_cast<uint32_t>(part.features.cols());
      nodes_ += part.type.count;
    }
    indicators_ = width_;
    width_ += static_cast<uint32_t>(parts_.size());
    std::vector<std::string> names;
    for (const TypedPart& part : parts_) names.push_back(part.type.name);
    std::sort(names.begin(), names.end());
    for (const TypedPart& part : parts_) {
      const auto level = std::lower_bound(names.begin(), names.end(), part.type.name) - names.begin();
      level_.push_back(static_cast<uint32_t>(level));
    }
  }

  Features Build(const Context& context) const {
    const std::vector<uint64_t> indptr = CountRows(context);
    const double cells = static_cast<double>(nodes_) * width_;
    return static_cast<double>(indptr.back()) < kSparseTypesBelow * cells ? Sparse(context, indptr)
                                                                          : Dense(context);
  }

 private:
  // visit(node, feature, value) for what is not zero, in ascending order within a node.
  template <class Visit>
  void Each(const Context& context, const Visit& visit) const {
    for (size_t p = 0; p < parts_.size(); ++p) {
      const TypedPart& part = parts_[p];
      ParallelFor(context, part.type.count, kTypedRows, [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) {
          const size_t node = part.type.first + row;
          ForEachValue(part.features, row, [&](uint32_t feature, float value) {
            if (value != 0) visit(node, first_feature_[p] + feature, value);
          });
          visit(node, indicators_ + level_[p], 1.0f);
        }
      });
    }
  }

  std::vector<uint64_t> CountRows(const Context& context) const {
    std::vector<uint64_t> indptr(nodes_ + 1, 0);
    Each(context, [&](size_t node, uint32_t, float) { ++indptr[node + 1]; });
    for (size_t node = 0; node < nodes_; ++node) indptr[node + 1] += indptr[node];
    return indptr;
  }

  Features Dense(const Context& context) const {
    Matrix dense = Matrix::Zeros(nodes_, width_);
    float* const out = dense.values.mutable_data();
    Each(context, [&](size_t node, uint32_t feature, float value) { out[node * width_ + feature] = value; });
    return Features::Dense(std::move(dense));
  }

  Features Sparse(const Context& context, const std::vector<uint64_t>& indptr) const {
    CsrMatrix sparse;
    sparse.rows = nodes_;
    sparse.cols = width_;
    sparse.indptr = Array<uint64_t>::CopyOf(indptr);
    sparse.indices = Array<uint32_t>::Allocate(indptr.back());
    sparse.values = Array<float>::Allocate(indptr.back());
    uint32_t* const indices = sparse.indices.mutable_data();
    float* const values = sparse.values.mutable_data();
    std::vector<uint64_t> next(indptr.begin(), indptr.end() - 1);
    Each(context, [&](size_t node, uint32_t feature, float value) {
      indices[next[node]] = feature;
      values[next[node]++] = value;
    });
    return Features::Sparse(std::move(sparse));
  }

  const std::vector<TypedPart>& parts_;
  std::vector<uint32_t> first_feature_, level_;  // (parts)
  uint32_t width_ = 0, indicators_ = 0;
  size_t nodes_ = 0;
};

// (features) 1 in the columns of a type.
std::vector<uint8_t> ColumnsOf(const TableSchema& schema, const std::string& type) {
  std::vector<uint8_t> own;
  for (const TableSchema::Column& column : schema.columns)
    own.insert(own.end(), column.width(), column.node_type == type ? 1 : 0);
  return own;
}

// The graph of all edges: where some relations have weights, edges of the others weigh 1.
BuiltGraph BuildUnion(const Context& context, std::vector<RelationEdges> edges, const Dataset& dataset,
                      const BuildOptions& options) {
  const bool weighted =
      std::any_of(edges.begin(), edges.end(), [](const RelationEdges& one) { return !one.weights.empty(); });
  RelationEdges all;
  for (RelationEdges& one : edges) {
    all.source.insert(all.source.end(), one.source.begin(), one.source.end());
    all.target.insert(all.target.end(), one.target.begin(), one.target.end());
    if (weighted && one.weights.empty()) one.weights.assign(one.source.size(), 1.0f);
    all.weights.insert(all.weights.end(), one.weights.begin(), one.weights.end());
    one = {};
  }
  const uint32_t nodes = dataset.node_types.back().first + dataset.node_types.back().count;
  return BuildGraph(context, nodes, all.source, all.target, all.weights, options);
}

}  // namespace

std::vector<NodeType> MakeNodeTypes(const std::vector<std::string>& names, const std::string& where) {
  std::vector<NodeType> types;
  for (const std::string& name : names) {
    if (name.empty() || name.find_first_of(":,=") != std::string::npos)
      ThrowUsage("{}: '{}' is no name of a node type; expected one without : , and =", where, name);
    if (std::any_of(types.begin(), types.end(), [&](const NodeType& type) { return type.name == name; }))
      ThrowUsage("{}: the node type {} is given twice; put its nodes into one table", where, name);
    types.push_back({name});
  }
  return types;
}

size_t FindNodeType(std::span<const NodeType> types, const std::string& name, const std::string& where) {
  for (size_t k = 0; k < types.size(); ++k) {
    if (types[k].name == name) return k;
  }
  const std::vector<std::string> known = TypeNames(types);
  ThrowUsage("{}: no node type is called '{}'{}; there are {}", where, name, Suggestion(name, known),
             fmt::join(known, ", "));
}

std::pair<size_t, size_t> EndsOfRelation(std::span<const NodeType> types, const std::string& relation) {
  const size_t first = relation.find(':'), second = relation.find(':', first + 1);
  const bool three = first != std::string::npos && second != std::string::npos &&
                     relation.find(':', second + 1) == std::string::npos;
  if (!three || first == 0 || second == first + 1 || second + 1 == relation.size())
    ThrowUsage("relation {}: expected SOURCE:NAME:TARGET, such as user:bought:item", relation);
  const std::string where = "relation " + relation;
  return {FindNodeType(types, relation.substr(0, first), where),
          FindNodeType(types, relation.substr(second + 1), where)};
}

void JoinNodeTypes(const Context& context, std::vector<TypedPart> parts, Dataset& dataset) {
  uint64_t nodes = 0;
  for (TypedPart& part : parts) {
    part.type.first = static_cast<uint32_t>(nodes);
    nodes += part.type.count;
    CheckedNodeCount(nodes, dataset.name.empty() ? "node types" : dataset.name);
    dataset.node_types.push_back(part.type);
  }
  dataset.features = JoinedRows(parts).Build(context);
  TableSchema::Column types;
  types.name = kTypeColumn;
  types.category = true;
  types.levels = TypeNames(dataset.node_types);
  std::sort(types.levels.begin(), types.levels.end());
  for (TypedPart& part : parts) {
    for (TableSchema::Column& column : part.schema.columns) {
      column.name = part.type.name + "." + column.name;
      column.node_type = part.type.name;
      dataset.schema.columns.push_back(std::move(column));
    }
    for (const std::string& name : part.schema.ignored)
      dataset.schema.ignored.push_back(part.type.name + "." + name);
  }
  dataset.schema.columns.push_back(std::move(types));
}

void AttachRelations(const Context& context, std::vector<RelationEdges> edges, const OpenOptions& options,
                     Dataset& dataset) {
  const uint32_t nodes = dataset.node_types.back().first + dataset.node_types.back().count;
  for (const RelationEdges& one : edges) {
    const BuildOptions build{options.directed, options.keep_self_loops, one.name};
    dataset.relations.push_back(
        {one.name, BuildGraph(context, nodes, one.source, one.target, one.weights, build).graph});
  }
  const BuildOptions build{options.directed, options.keep_self_loops, "relations"};
  AttachGraph(dataset, BuildUnion(context, std::move(edges), dataset, build));
}

std::vector<uint8_t> RowsToFit(const Dataset& dataset, std::span<const uint32_t> train_nodes) {
  std::vector<uint8_t> rows(dataset.features.rows(), 0);
  for (const uint32_t node : train_nodes) rows[node] = 1;
  for (const NodeType& type : dataset.node_types) {
    const auto first = rows.begin() + type.first, last = first + type.count;
    if (std::find(first, last, 1) == last) std::fill(first, last, uint8_t{1});
  }
  return rows;
}

void FitTypes(const Context& context, const Dataset& dataset, const TableSchema& schema,
              const Features& features, std::span<const uint8_t> fit_rows, Scale scale,
              Model::Preparation& preparation) {
  if (preparation.factor.empty()) return;
  for (const NodeType& type : dataset.node_types) {
    if (type.count == 0) continue;
    std::vector<uint8_t> rows(fit_rows.begin(), fit_rows.end());
    for (uint32_t node = 0; node < rows.size(); ++node) rows[node] &= type.Holds(node) ? 1 : 0;
    const Model::Preparation own = FitPreparation(context, features, rows, scale, 0, 0);
    const std::vector<uint8_t> columns = ColumnsOf(schema, type.name);
    for (size_t c = 0; c < columns.size(); ++c) {
      if (columns[c] == 0) continue;
      preparation.shift.mutable_data()[c] = own.shift[c];
      preparation.factor.mutable_data()[c] = own.factor[c];
    }
  }
}

Features BlankOtherTypes(const Context& context, const Dataset& dataset, const TableSchema& schema,
                         const Model::Preparation& preparation, const Features& features) {
  // A projection takes the cells as they are.
  if (dataset.node_types.empty() || preparation.shift.empty() || preparation.projection.rows != 0)
    return features;
  Matrix blanked = Matrix::Allocate(features.rows(), features.cols());
  float* const out = blanked.values.mutable_data();
  for (const NodeType& type : dataset.node_types) {
    const std::vector<uint8_t> own = ColumnsOf(schema, type.name), of_all = ColumnsOf(schema, "");
    ParallelFor(context, type.count, kTypedRows, [&](size_t begin, size_t end) {
      features.ReadRows(type.first + begin, end - begin, out + (type.first + begin) * features.cols());
      for (size_t node = type.first + begin; node < type.first + end; ++node) {
        float* const row = out + node * features.cols();
        for (size_t c = 0; c < own.size(); ++c) {
          if (own[c] == 0 && of_all[c] == 0) row[c] = preparation.shift[c];
        }
      }
    });
  }
  return Features::Dense(std::move(blanked));
}

void CheckNodeTypes(const Dataset& dataset) {
  if (dataset.node_types.empty()) return;
  uint64_t next = 0;
  for (const NodeType& type : dataset.node_types) {
    if (type.first != next || type.name.empty())
      ThrowInput("{}: the node type '{}' begins at node {}; expected {}", dataset.name, type.name, type.first,
                 next);
    next += type.count;
  }
  if (next != dataset.nodes())
    ThrowInput("{}: its node types have {} nodes of {}", dataset.name, next, dataset.nodes());
}

}  // namespace l2gcn
