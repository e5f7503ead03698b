// Writers of data sets: the table of formats that `convert` knows, and the formats made for other programs.
// native_store.h has the native format.
#pragma once

#include <filesystem>
#include <span>

#include "l2gcn/dataset.h"

namespace l2gcn {

// One format that a data set can be written in. A new one is its own file and a row in convert.cpp.
struct FormatWriter {
  const char* name;       // as --to takes it
  const char* extension;  // of destinations that are written in it if nobody says --to; "": of no name
  // Writes the whole data set at `path`, which is replaced only if `force`.
  void (*write)(const Context& context, const Dataset& dataset, const std::filesystem::path& path,
                bool force);
  // Converts a lone edge list in bounded memory, with the same result; null: it is opened and written.
  uint64_t (*stream_edges)(const Context& context, const std::string& spec, const OpenOptions& open,
                           const std::filesystem::path& path, uint64_t memory, bool force);
};

// The format of destinations without a known extension comes first.
std::span<const FormatWriter> FormatWriters();

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
