// A data set: graph, node features, labels, splits, and the names that predictions carry back out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "l2gcn/array.h"
#include "l2gcn/context.h"
#include "l2gcn/features.h"
#include "l2gcn/graph.h"

namespace l2gcn {

// What a model learns of a node: its class, a set of labels, or numbers.
enum class Task : uint8_t { kClass, kLabels, kRegression };

// Labels: one class a node, a set of labels a node, or the targets of a regression.
struct Labels {
  bool multilabel = false;
  uint32_t classes = 0;       // of a regression: targets a node
  Array<int32_t> classes_of;  // (nodes) class, −1 = unlabelled; Task::kClass alone
  Array<uint8_t> matrix;      // (nodes × classes) 0/1; Task::kLabels alone
  Array<uint8_t> labelled;    // (nodes) 0/1, Task::kLabels alone; empty: all are labelled
  Matrix targets;             // (nodes × classes), NaN = missing; Task::kRegression alone
  Array<float>
      node_weights;  // (nodes) above 0, by which nodes count in the loss of a regression; empty: alike

  Task task() const {
    return targets.cols > 0 ? Task::kRegression : multilabel ? Task::kLabels : Task::kClass;
  }
  // A regression's node is labelled if it has one target at least.
  bool IsLabelled(uint32_t node) const {
    switch (task()) {
      case Task::kClass:
        return classes_of[node] >= 0;
      case Task::kLabels:
        return labelled.empty() || labelled[node] != 0;
      case Task::kRegression:
        break;
    }
    const float* row = targets.row(node);
    return std::any_of(row, row + targets.cols, [](float value) { return !std::isnan(value); });
  }
};

enum class Role : uint8_t { kNone = 0, kTrain = 1, kVal = 2, kTest = 3 };

struct Split {
  // How many nodes each part has.
  struct Counts {
    uint64_t train = 0, val = 0, test = 0;
  };
  // A column of the node table by which splits are drawn.
  struct Column {
    static constexpr uint32_t kNoRow = ~uint32_t{0};

    std::string name;        // "time:joined", "group:household"
    Array<uint32_t> places;  // (nodes) of a node's value among the different ones, which ascend; or kNoRow
  };

  std::string name;      // "paper", "public", "file:0", "random:0.6,0.2,0.2", …
  Array<uint8_t> roles;  // (nodes) of Role
};

// Names of nodes, one behind the other, so that millions of them can be mapped like every other array.
struct NameTable {
  Array<uint64_t> offsets;  // (names + 1), or empty
  Array<uint8_t> text;      // (offsets.back()) UTF-8

  size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  bool empty() const { return size() == 0; }
  std::string_view operator[](size_t i) const {
    return {reinterpret_cast<const char*>(text.data()) + offsets[i], offsets[i + 1] - offsets[i]};
  }
  static NameTable FromStrings(std::span<const std::string> names);
};

// What is remembered of a table, by the data set and by a model trained on it: new tables are matched by
// name.
struct TableSchema {
  // A column of a person's table that became features: a number is one feature, a category one a level; behind
  // them stands one more where cells are missing, 1 in those rows (the number itself is 0 there until it is
  // prepared).
  struct Column {
    std::string name;                 // from the header, or its position: "0", "1", …
    bool category = false;            // words
    std::vector<std::string> levels;  // of a category, ascending
    bool marks_missing = false;       // has the feature that marks missing cells
    uint64_t missing = 0;             // cells missing
    float fill =
        0;  // of a number: what stands in for a missing cell, the median of the train nodes; set by training
    std::string unit;       // that the numbers carry in the table, such as % or $; empty: none
    std::string node_type;  // whose nodes have the column, others have 0; empty: all nodes have it

    uint32_t width() const {
      return (category ? static_cast<uint32_t>(levels.size()) : 1) + (marks_missing ? 1 : 0);
    }
  };

  std::vector<Column> columns;  // in the order of the features
  std::vector<std::string>
      ignored;  // columns that became no features: split columns, too many words, nothing at all
  // Columns of the edge table from which features were computed, with their levels. The features are columns of their own.
  std::vector<Column> edge_columns;
  std::string label;  // name of the label column, or of those of a regression with commas between; or empty
  bool regression = false;  // the label columns hold targets of a regression
  std::string id;           // name of the id column, or empty: row k is node k
  std::string path;         // file of the table, for messages; not stored

  bool empty() const { return columns.empty(); }
  uint32_t width() const;
};

// Words of the setting `relations` that no relation is named.
inline constexpr const char *kAllEdges = "all", *kAutoRelations = "auto";

// Edges of one kind, which a layer aggregates by an operator of their own: an edge type, a weight column, or edges between
// two types of nodes.
struct Relation {
  std::string name;  // "bought", "user:bought:item"
  Graph graph;       // of all nodes
};

// Nodes of one type, which are numbered one after the other.
struct NodeType {
  std::string name;
  uint32_t first = 0, count = 0;
  bool labelled = false;  // these nodes are scored and predicted

  bool Holds(uint64_t node) const { return node >= first && node - first < count; }
};

struct Dataset {
  std::string name;        // as shown to people: "cora", "synthetic:reddit", a file's stem
  std::string preset_row;  // row of the paper's settings: "cora", "pubmed", "ppi", "reddit", …; "" for others
  std::string format;      // "planetoid", "native", "synthetic", …
  std::string path;        // where it was found; empty if generated
  Graph graph;             // all edges
  std::vector<Relation> relations;   // the same edges by kind; empty: they are of one kind
  std::vector<NodeType> node_types;  // empty: nodes are of one type
  Features features;
  TableSchema schema;      // where the features come from a table; empty otherwise
  bool structure = false;  // the features were made from the graph (WithStructure)
  bool inductive =
      false;  // its format keeps training apart from the other nodes, as GraphSAGE's and GraphSAINT's do
  Labels labels;
  std::vector<Split> splits;  // those the files bring; the first is the default
  std::vector<Split::Column> split_columns;
  std::vector<std::string> class_names;  // (classes) or empty; of a regression the targets' names
  NameTable node_names;                  // (nodes) string ids, or empty
  Array<int64_t> node_ids;               // (nodes) original integer ids, or empty: 0 … nodes−1
  uint64_t self_loops = 0;               // self loops found in the input; the graph holds them only if kept
  Graph::Changes changes;

  // The contents were checked whole (ValidateDataset) by whoever made this data set. Calls that read a data
  // set check it first where this is false; set it to false after changing arrays by hand.
  bool checked = false;

  uint32_t nodes() const { return graph.nodes; }
  const NodeType* TypeOf(uint32_t node) const;  // null where nodes are of one type
  bool IsPredicted(uint32_t node) const;        // nodes of types without labels are not
  uint32_t predicted_nodes() const;
  // Undirected simple edges without self loops (for a directed graph: of its symmetric closure).
  uint64_t edges = 0;
  std::string NodeName(uint32_t node) const;    // the id as in the input, or the number
  std::string ClassName(uint32_t label) const;  // its name, or its number
};

struct OpenOptions {
  // A table that is one of several.
  struct Table {
    std::string name;  // of the type of its nodes, "user", or of its relation, "user:bought:item"
    std::string path;
    bool operator==(const Table&) const = default;
  };
  std::string format;    // forces a reader; empty: detect
  std::string data_dir;  // where names are looked for first
  bool directed =
      false;  // relations "in" and "out" beside the symmetric graph; of each relation where there are several
  bool one_way = false;  // with `directed`: the graph itself is directed, as in runs of earlier versions
  bool keep_self_loops = false;
  bool largest_component = false;  // keep the nodes of the largest connected component alone
  uint32_t min_degree = 0;         // drop nodes with fewer neighbours, once
  uint64_t synthetic_seed = 0;     // for synthetic:SHAPE
  bool map_only = false;           // do not look at a native directory's values: milliseconds for any size
  // Tables given file by file in place of a spec
  std::string edges;               // edge list
  std::string nodes;               // node table: id, features, label
  std::string features;            // feature file beside the edge list
  std::string labels;              // label file beside the edge list
  std::vector<Table> node_tables;  // in place of `nodes`: one for each type of nodes
  std::vector<Table> edge_tables;  // in place of `edges`: one for each relation between two types
  std::string schema;              // YAML or JSON file that names such tables
  // Column of labels in the node or label table; empty: the last; "none": there is none. Several targets of a regression:
  // with commas between. TYPE:COLUMN where there are several node tables.
  std::string label_column;
  std::string task;                  // "regression" or "classification"; empty: by the values of the labels
  std::string sample_weight_column;  // of the node table: by what nodes count in the loss; empty: alike
  bool label_optional = false;       // a table without `label_column`, or where that is empty, has no labels
  std::string id_column;             // of the node, label and feature tables; empty: found
  bool id_optional = false;          // a table without `id_column` has its ids in another one, which is found
  std::string source_column, target_column,
      weight_column;  // of the edge list; empty: found. Weight "none": none; "a,b": one relation for each column
  std::string edge_type_column;  // of the edge list: one relation for each of its values
  std::vector<std::string>
      edge_types;  // that a model knows, which gives others none of their own; empty: all
  // Columns of the node table that become features whatever they hold. Those of a model are named here when
  // it predicts, because a short table may look as if a column of categories held names.
  std::vector<std::string> feature_columns;
  std::string split_by;  // time:COLUMN or group:COLUMN of the node table, kept to draw splits; empty: none
  std::string edge_features;  // columns of the edge list that become features, with commas between, or all
  std::vector<TableSchema::Column>
      edge_columns;                      // those of a model when it predicts, in place of edge_features
  std::string model_edges, model_nodes;  // the tables a model was trained on when it predicts; for messages
  std::string missing;  // words that mean "no value" in tables, with commas between; any case
  bool no_ids = false;  // row k of features and labels is node k
  bool allow_unmatched =
      false;  // go on although many ids of the edges have no row, and without edges of unknown types
};

// Options for a table that a model will read: its columns are those of the tables the model was trained on, wherever the
// caller names none. The table may lack the label column, and may call its ids differently.
void ReuseColumns(const TableSchema& schema, OpenOptions& options);

// Has the column kept by which `split` is drawn, if it is time:COLUMN:a,b,c or group:COLUMN:a,b,c.
void KeepSplitColumn(const std::string& split, OpenOptions& options);

// The options that a run must keep to open its data set again, as one JSON object, and back.
std::string OpenOptionsToJson(const OpenOptions& options);
OpenOptions OpenOptionsFromJson(const std::string& text, const std::string& where);

// Opens a path, a known name, or synthetic:SHAPE; an empty spec is the embedded demo graph
// (synthetic:pubmed). Everything read is checked (ValidateDataset), unless `map_only` says that only headers
// will be used.
Dataset OpenDataset(const Context& context, const std::string& spec, const OpenOptions& options = {});

// Writes the native directory: .npy files + dataset.json. Replaces an existing data set whole, or not at all.
void SaveDataset(const Context& context, const Dataset& dataset, const std::string& directory,
                 bool force = false);

// Picks or draws a split: "paper", "public", "random:a,b,c" (classes in equal shares in every part),
// "uniform:a,b,c" (whatever their class), "file[:K]", "column:NAME"; "" = the default order (paper, the
// file's own, random:0.6,0.2,0.2). Only labelled nodes get a role.
//
// Where the data set was opened with that column (KeepSplitColumn), also "time:COLUMN:a,b,c" (the earliest nodes train;
// equal times stay together in the earlier part) and "group:COLUMN:a,b,c" (every group of nodes is in one part).
Split ResolveSplit(const Dataset& dataset, const std::string& spec, uint64_t seed);

// How many nodes each part of that split has. The seed makes a difference for groups alone.
Split::Counts CountSplit(const Dataset& dataset, const std::string& spec, uint64_t seed = 0);

// Known names, and where each was found.
struct KnownDataset {
  std::string name;
  std::string description;
  std::string found_at;  // path or empty
  std::string format;
};
std::vector<KnownDataset> ListDatasets(const OpenOptions& options);

// Throws Error(kInput) naming the first thing wrong: an edge to a node that does not exist, a label out of
// range, a NaN or infinite feature (node and column), feature rows ≠ nodes.
void ValidateDataset(const Context& context, const Dataset& dataset);

// The counts that `info --json` and result.json carry, as one JSON object.
std::string DescribeDatasetJson(const Dataset& dataset);

}  // namespace l2gcn
