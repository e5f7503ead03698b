// Data sets written for other programs; native_store.h has our own format.
#pragma once

#include <filesystem>

#include "l2gcn/dataset.h"

namespace l2gcn {

// Throws Error(kUsage) if `path` exists and is not to be replaced, or is a directory.
void RefuseExisting(const std::filesystem::path& path, bool force);

// scipy.sparse.load_npz reads the graph; features, labels, splits and names stand beside it under their own
// names, and reading the file back gives the same data set.
void WriteNpz(const Context& context, const Dataset& dataset, const std::filesystem::path& path, bool force);

// A GraphBolt OnDiskDataset: metadata.yaml, edges (2 × entries) i8, features, and one task a split.
void WriteGraphBolt(const Context& context, const Dataset& dataset, const std::filesystem::path& directory,
                    bool force);

// "source,target[,weight]" a line with ids as in the input; of an undirected graph each edge once.
void WriteEdgeCsv(const Context& context, const Dataset& dataset, const std::filesystem::path& path,
                  bool force);

}  // namespace l2gcn
