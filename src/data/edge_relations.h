// Edges with what makes them relations, and the graphs of a data set made from them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/relations.h"
#include "graph/build.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// The type of each edge, as a number of its name; names are numbered as they come.
class EdgeTypes {
 public:
  void Add(std::string_view name);
  // Those of the edges that follow; `more` is used up.
  void Append(EdgeTypes&& more);
  void clear();

  std::vector<std::string> names;
  std::vector<uint32_t> of;  // (edges)

 private:
  uint32_t NumberOf(std::string_view name);
  std::unordered_map<std::string, uint32_t> numbers_;
};

struct EdgeArrays {
  uint32_t nodes = 0;
  std::span<const uint32_t> source, target;                             // (edges)
  std::span<const float> weights;                                       // (edges), or empty
  const EdgeTypes* types = nullptr;                                     // null: all edges are of one type
  std::vector<std::pair<std::string, std::span<const float>>> columns;  // several weights, by name; or none
};

struct RelationOptions {
  BuildOptions build;
  std::vector<std::string> known;  // types that a model knows; empty: all are new
  bool drop_unknown = false;
};

// The graph of all edges, and one relation for each type or column of weights. Many types are grouped (kMostEdgeTypes).
void AttachEdges(const Context& context, const EdgeArrays& edges, const RelationOptions& options,
                 Dataset& dataset);

}  // namespace l2gcn
