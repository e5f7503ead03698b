// Reads a text edge list into memory and enters its ids into an IdTable that other files may share.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/edge_text.h"
#include "data/id_table.h"
#include "graph/build.h"

namespace l2gcn {

struct LoadedEdges {
  std::vector<uint32_t> source, target;  // (edges) keys of the table
  std::vector<float> weights;            // (edges), or empty: none, or all are 1
  EdgeExtras extras;
  uint64_t negative = 0;  // weights below 0
};

// Throws NeedsWiderIds if an id does not fit ids.kind(), NeedsQuotes as ParseSmallEdges does: see
// ReadInStages.
LoadedEdges LoadEdges(const Context& context, const std::filesystem::path& path, EdgeTextFormat format,
                      IdTable& ids);

// Counts negative weights, and drops weights that are all 1.
void SettleWeights(LoadedEdges& edges);
void LogNegativeWeights(const Context& context, const std::filesystem::path& path, const LoadedEdges& edges);

// A list whose ids are node numbers below `nodes`.
LoadedEdges LoadNumberedEdges(const Context& context, const std::filesystem::path& path, uint32_t nodes);

// Keys to nodes, then AttachEdges; `edges` is used up. The table must be finished.
void AttachLoaded(const Context& context, LoadedEdges&& edges, const EdgeTextFormat& format,
                  const IdTable& ids, const RelationOptions& options, Dataset& dataset);

// The nodes of the edges from `first` on, source and target one behind the other; a number past all nodes behind the last
// edge.
void NodesOfEdges(const LoadedEdges& edges, const IdTable& ids, uint64_t first, std::span<uint32_t> nodes);

}  // namespace l2gcn
