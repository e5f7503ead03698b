// Data sets kept as tables: an edge list, and beside it features and labels in files of their own or one
// node table.
//
// A folder with one *edge* file, at most one *feat* and at most one *label* or *target* file is such a set;
// so is a lone edge list, and so are the files given by --edges, --nodes, --features and --labels. Nodes
// are all ids found in any of them; features of nodes without a row are zero.
//
// A label table with several 0/1 columns is a multi-label set. Otherwise its last column (or --label) is
// the class, and an empty cell there is a node without a label. Its other columns are features only where
// there is no feature file.
//
// Features are a table, .npy or scipy .npz (a row is a node), svmlight (a line is a node), or JSON {node:
// [active features]}, or a table of triples node, feature, value. In tables numbers are features, words are one-hot, and a column of train / val / test
// is the split column:NAME.
#pragma once

#include <filesystem>

#include "data/table_files.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// What --label says of a table without labels.
inline constexpr const char* kNoLabelColumn = "none";

bool DetectTableSet(const std::filesystem::path& path);
Dataset ReadTables(const Context& context, const TableFiles& files, const OpenOptions& options);
Dataset ReadTableSet(const Context& context, const std::filesystem::path& path, const OpenOptions& options);

// Whether `path` is an edge list in text that nothing else belongs to.
bool IsLoneEdgeList(const std::filesystem::path& path, const OpenOptions& options);

}  // namespace l2gcn
