// Sparse features as a table of triples: node, feature, value. Each line is one number that is not 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "data/feature_files.h"
#include "data/table.h"

namespace l2gcn {

// Whether a header names a feature and a value beside the node, and nothing else.
bool HoldsTriples(const TableFormat& format);

// Features are numbered from 0. Throws Error(kInput) naming the row of a feature or value that is none, and of a second value
// of one node and feature.
KeyedRows ReadTriples(const Context& context, const std::filesystem::path& path, const TableFormat& format,
                      const std::function<uint32_t(std::string_view)>& key_of);

}  // namespace l2gcn
