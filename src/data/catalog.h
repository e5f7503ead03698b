// Known data sets by name, and the folders in which a name is looked for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "l2gcn/dataset.h"

namespace l2gcn {

// --data-dir, $L2GCN_DATA, ~/.cache/l2gcn: those that exist, in this order.
std::vector<std::filesystem::path> SearchFolders(const OpenOptions& options);

// Everything in those folders, or one folder deeper, that NAME could mean: ind.NAME.* first, then NAME/ and
// NAME.npz in the order found. A Planetoid set is given as DIRECTORY/ind.NAME.
std::vector<std::filesystem::path> FindByName(const std::string& name, const OpenOptions& options);

// The row of the paper's settings that a data set of this name takes, or "".
std::string PresetRowOf(const std::string& name);

}  // namespace l2gcn
