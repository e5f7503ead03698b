// Edge tables between nodes of two types.
#pragma once

#include <filesystem>
#include <string>

#include "data/node_types.h"
#include "data/typed_ids.h"

namespace l2gcn {

// One end of a relation.
struct TypedEnd {
  const NodeType& type;
  const TypedIds& ids;
  const NodeRows& rows;
};

// Reads the table of one relation. Its columns are those that the user names, those called as the types are (user,
// user_id), or the first two.
RelationEdges ReadTypedEdges(const Context& context, const OpenOptions::Table& table, const TypedEnd& source,
                             const TypedEnd& target, const OpenOptions& options);

}  // namespace l2gcn
