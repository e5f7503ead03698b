// Converts a text edge list to a native directory in bounded memory: parses, numbers the nodes, sorts externally and merges.
#pragma once

#include <cstdint>
#include <filesystem>

#include "l2gcn/dataset.h"

namespace l2gcn {

// Returns the number of nodes.
uint64_t ConvertEdgeList(const Context& context, const std::filesystem::path& path,
                         const OpenOptions& options, const std::filesystem::path& destination,
                         uint64_t memory, bool force);

}  // namespace l2gcn
