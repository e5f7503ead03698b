// A data set made from arrays that the caller already holds.
//
//   l2gcn::DatasetArrays arrays;
//   arrays.features = …;                       // (nodes × columns), taken without a copy
//   arrays.source = from; arrays.target = to;  // edge e leads from node from[e] to node to[e]
//   arrays.classes_of = labels;                // −1: unlabelled
//   l2gcn::Dataset dataset = l2gcn::MakeDataset(context, arrays);
//
// Everything is checked: a wrong length, a number out of range or a feature that is not finite is an Error
// that names the array, the place and the value.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// Whole numbers in the type the caller has them in. Vectors and spans of these four types convert to it.
using IndexSpan = std::variant<std::span<const int64_t>, std::span<const int32_t>, std::span<const uint32_t>,
                               std::span<const uint64_t>>;

// All spans are only read, and only while MakeDataset runs (but see rows_owner).
struct DatasetArrays {
  // Nodes of one type, numbered behind those of the types before it.
  struct TypedRows {
    std::string name;
    uint64_t count = 0;
    Features features;                 // (count × columns), or empty: nodes of this type have none
    std::vector<std::string> columns;  // names of the columns, or empty: "0", "1", …
    bool labelled = false;             // these nodes are scored and predicted
  };

  // Edges between nodes of two types.
  struct TypedEdges {
    std::string name;                // "user:bought:item"
    IndexSpan source, target;        // (edges) each, counted from 0 within the type
    std::span<const float> weights;  // (edges), or empty
  };

  std::string name = "arrays";  // shown to people
  std::string preset_row;       // the paper's row of settings to start from: "cora", "reddit", …; "": none
  uint64_t nodes = 0;           // 0: one for each row of features

  // The graph: either an edge list or compressed rows. Neither: a graph without edges.
  IndexSpan source, target;        // (edges) each
  IndexSpan indptr, indices;       // (nodes + 1), (entries); rows may be unsorted and repeat entries
  std::span<const float> weights;  // one for each edge or entry; empty: every edge weighs 1
  // Keeps `indices` and `weights` alive after MakeDataset has returned; may be null. The data set then shares
  // compressed rows that are already what a graph holds: 32-bit indices, each row ascending without repeats
  // or self loops, each edge both ways with one weight. Other rows, and directed ones, are copied all the
  // same.
  std::shared_ptr<const void> rows_owner;
  // Relations: a type for each edge or entry, or several weights for it; at most one of the two.
  IndexSpan edge_type;                       // number of its name
  std::vector<std::string> edge_type_names;  // empty: the numbers themselves
  std::vector<std::pair<std::string, std::span<const float>>> weight_columns;  // by name
  bool directed =
      false;  // relations "in" and "out" of each kind of edges; otherwise each edge counts both ways
  bool one_way = false;  // with `directed`: the graph itself is directed, as in earlier versions
  bool keep_self_loops = false;

  Features features;  // (nodes × columns), dense or sparse; the data set shares this memory

  // Several types of nodes, in place of the graph and the features above. Everything below is of all nodes.
  std::vector<TypedRows> node_types;
  std::vector<TypedEdges> relations;

  // Labels: one class a node, a set of labels a node, or the targets of a regression. None: no node is labelled.
  IndexSpan classes_of;                   // (nodes) class from 0 on; −1: unlabelled
  std::span<const uint8_t> label_matrix;  // (nodes × classes) 0 or 1
  std::span<const uint8_t> labelled;      // (nodes) 0 or 1, with label_matrix only; empty: all are labelled
  uint32_t classes = 0;                   // 0: the largest class + 1, or as many as label_matrix has columns
  std::vector<std::string> class_names;   // (classes), or names of targets; or empty
  Matrix targets;                         // (nodes × targets), NaN: missing; the data set shares this memory
  std::span<const float>
      node_weights;  // (nodes) above 0, with targets only: by which nodes count in the loss

  // The split: a role for each node, or the node numbers of each part. None: ResolveSplit draws one.
  std::span<const uint8_t> roles;  // (nodes) of Role
  IndexSpan train, val, test;      // node numbers, in any order

  // What the nodes are called outside; at most one of the two.
  std::vector<std::string> node_names;  // (nodes)
  std::span<const int64_t> node_ids;    // (nodes)
};

// Throws Error(kInput) for arrays that do not fit together.
Dataset MakeDataset(const Context& context, DatasetArrays arrays);

}  // namespace l2gcn
