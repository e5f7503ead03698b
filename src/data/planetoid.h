// The citation graphs as Planetoid distributed them: ind.NAME.{x,y,tx,ty,allx,ally,graph,test.index}, pickles
// of Python 2 or 3.
//
// Rows of allx come first; row i of tx belongs to node test.index[i]. Test ids that are missing (Citeseer's
// holes) are nodes with empty features and no label. Features stay sparse. Splits: "paper" where the paper
// (or its rule) has one, and "public".
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "l2gcn/dataset.h"

namespace l2gcn {

// Names of the complete sets that lie in `directory`.
std::vector<std::string> PlanetoidNames(const std::filesystem::path& directory);

Dataset ReadPlanetoid(const Context& context, const std::filesystem::path& directory, const std::string& name,
                      const OpenOptions& options);

}  // namespace l2gcn
