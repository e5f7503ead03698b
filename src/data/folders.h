// Data sets kept as folders of several files: GraphSAINT, GraphSAGE, DGL's PPI, OGB's node-property sets, GraphLand.
#pragma once

#include <filesystem>

#include "l2gcn/dataset.h"

namespace l2gcn {

// adj_full.npz, feats.npy, class_map.json, role.json.
bool DetectGraphSaint(const std::filesystem::path& path);
Dataset ReadGraphSaint(const Context& context, const std::filesystem::path& path, const OpenOptions& options);

// PREFIX-G.json, -id_map.json, -class_map.json, -feats.npy.
bool DetectGraphSage(const std::filesystem::path& path);
Dataset ReadGraphSage(const Context& context, const std::filesystem::path& path, const OpenOptions& options);

// {train,valid,test}_{graph.json,feats.npy,labels.npy}: graphs side by side, one block a split.
bool DetectDglPpi(const std::filesystem::path& path);
Dataset ReadDglPpi(const Context& context, const std::filesystem::path& path, const OpenOptions& options);

// raw/edge.csv.gz … or raw/data.npz, and split/NAME/{train,valid,test}.csv.gz.
bool DetectOgb(const std::filesystem::path& path);
Dataset ReadOgb(const Context& context, const std::filesystem::path& path, const OpenOptions& options);

// features.csv, targets.csv, edgelist.csv, info.yaml, and split_masks_*.csv.
bool DetectGraphLand(const std::filesystem::path& path);
Dataset ReadGraphLand(const Context& context, const std::filesystem::path& path, const OpenOptions& options);

}  // namespace l2gcn
