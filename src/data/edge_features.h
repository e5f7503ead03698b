// Features of nodes from the columns of an edge list.
//
// A column of numbers gives every node the count, mean, least and largest of its edges' values; a column of words gives it
// the share of each word. Directed graphs have them for edges that leave a node (out) and for those that reach it (in),
// others once (edges). A record counts at both its ends, and parallel edges count each. Cells without a value are skipped.
//
// The file is read again in blocks, so memory holds the sums of the nodes alone. Values are added in file order: the
// result does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "data/edge_text.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// Fills `nodes` with the nodes of `ids`, which stand in the file from edge `first` on: source and target of each edge.
using EdgeNodes =
    std::function<void(uint64_t first, std::span<const std::string_view> ids, std::span<uint32_t> nodes)>;

bool HasEdgeFeatures(const OpenOptions& options);
// The format with the columns that become features taken from those that are not used, for a note.
EdgeTextFormat WithoutFeatures(EdgeTextFormat format, const OpenOptions& options);

// Appends them to the features and the schema of `dataset`, whose nodes are known. Throws Error(kInput) where the sums
// take more than `memory` bytes; 0: no limit.
void AddEdgeFeatures(const Context& context, const std::filesystem::path& path, const EdgeTextFormat& format,
                     const OpenOptions& options, const EdgeNodes& nodes_of, uint64_t memory,
                     Dataset& dataset);

}  // namespace l2gcn
