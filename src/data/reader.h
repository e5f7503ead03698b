// Shared by format readers: the table that detection walks, and attaching a built graph.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "data/npy.h"
#include "data/sparse_matrix.h"
#include "graph/build.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// Whether a path looks like this format, from names and first bytes, never by full reading.
using FormatDetector = bool(const std::filesystem::path& path);
using FormatRead = Dataset(const Context& context, const std::filesystem::path& path,
                           const OpenOptions& options);

// A new reader is its own file with these two functions, and a row in open.cpp.
struct FormatReader {
  const char* name;  // as --format takes it
  FormatDetector* detect;
  FormatRead* read;
};

// Finds the reader of `path`, or the one `format` names; nullptr if nothing fits.
const FormatReader* FindReader(const std::filesystem::path& path, const std::string& format);

inline void AttachGraph(Dataset& dataset, BuiltGraph&& built) {
  dataset.graph = std::move(built.graph);
  dataset.changes = built.changes;
  dataset.edges = built.edges;
  dataset.self_loops = built.self_loops;
}

BuildOptions BuildFor(const OpenOptions& options, const std::string& where);

// A graph from a square matrix; values that are all 1 are no weights.
BuiltGraph GraphFromSparse(const Context& context, const StoredSparse& stored, const OpenOptions& options);

// A graph from edges of shape (E × 2) or (2 × E).
BuiltGraph GraphFromPairs(const Context& context, const NpyArray& edges, uint32_t nodes,
                          const BuildOptions& options);

// Labels of a data set that brings none.
inline Labels NoLabels(uint32_t nodes) {
  Labels labels;
  labels.classes_of = Array<int32_t>::Filled(nodes, -1);
  return labels;
}

// Gives a node its role; throws Error(kInput) where it has another one already.
void GiveRole(Split& split, uint64_t node, Role role, const std::string& where);

// Tells what cleaning did to the graph, with counts; nothing if nothing was done.
void LogChanges(const Context& context, const std::string& name, const Graph::Changes& changes);

}  // namespace l2gcn
