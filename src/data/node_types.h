// Several types of nodes in one data set.
//
// Nodes are numbered type after type. The columns of all types lie side by side, called user.age and item.price; a node
// has zeros in those of other types. Behind them stands a column of categories, `type`, which says what each node is. Each
// relation joins two types and is called after them: user:bought:item.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/prepare.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// What the nodes of one type bring.
struct TypedPart {
  NodeType type;
  Features features;   // (type.count × columns)
  TableSchema schema;  // of these columns alone
};

// The types of `names`, without nodes. Throws Error(kUsage) for names that are empty, repeat or hold : , or =.
std::vector<NodeType> MakeNodeTypes(const std::vector<std::string>& names, const std::string& where);

// The place of a type; throws Error(kUsage) naming the known ones. `where` begins the message.
size_t FindNodeType(std::span<const NodeType> types, const std::string& name, const std::string& where);

// The types that a relation SOURCE:NAME:TARGET joins.
std::pair<size_t, size_t> EndsOfRelation(std::span<const NodeType> types, const std::string& relation);

// Sets node types, features and columns of `dataset`, and numbers the types' first nodes.
void JoinNodeTypes(const Context& context, std::vector<TypedPart> parts, Dataset& dataset);

// Edges of one relation, between nodes as they are numbered in the data set.
struct RelationEdges {
  std::string name;
  std::vector<uint32_t> source, target;  // (edges) each
  std::vector<float> weights;            // (edges), or empty
};

// Makes a graph of each relation, and one of all edges; `edges` is used up.
void AttachRelations(const Context& context, std::vector<RelationEdges> edges, const OpenOptions& options,
                     Dataset& dataset);

// (nodes) 1 where a row counts when features are measured: train nodes, and all nodes of types without any.
std::vector<uint8_t> RowsToFit(const Dataset& dataset, std::span<const uint32_t> train_nodes);

// Measures the columns of each type on its own nodes, where `preparation` scales columns.
void FitTypes(const Context& context, const Dataset& dataset, const TableSchema& schema,
              const Features& features, std::span<const uint8_t> fit_rows, Scale scale,
              Model::Preparation& preparation);

// Features in which cells of other types become 0 once `preparation` is applied.
Features BlankOtherTypes(const Context& context, const Dataset& dataset, const TableSchema& schema,
                         const Model::Preparation& preparation, const Features& features);

// Throws Error(kInput) for types that do not number the nodes one after the other.
void CheckNodeTypes(const Dataset& dataset);

}  // namespace l2gcn
