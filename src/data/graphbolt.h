// GraphBolt's OnDiskDataset folders (DGL): metadata.yaml naming .npy and .csv files.
//
// Read: one node type; edges as .npy (2 × E) or (E × 2), or .csv without header; node features as .npy (the
// first matrix is taken); every task is a split, its labels those of its sets. Paths that leave the folder
// are refused.
#pragma once

#include <filesystem>

#include "l2gcn/dataset.h"

namespace l2gcn {

bool DetectGraphBolt(const std::filesystem::path& path);
Dataset ReadGraphBolt(const Context& context, const std::filesystem::path& path, const OpenOptions& options);

}  // namespace l2gcn
