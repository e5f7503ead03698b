// The JSON files of GraphSAGE and GraphSAINT, read as a stream of events: node → class or list of 0/1, and
// node-link graphs. Memory holds what is kept, never the document.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "l2gcn/dataset.h"

namespace l2gcn {

// class_map.json: rows in the order of the file.
struct ClassMap {
  std::vector<std::string> ids;  // (rows)
  std::vector<int64_t> values;   // (rows × width)
  size_t width = 0;              // 1: one class a node; more: a list of 0/1
};
ClassMap ReadClassMap(const std::filesystem::path& path);

// id_map.json: {"id": row, …}.
std::vector<std::pair<std::string, uint64_t>> ReadIdMap(const std::filesystem::path& path);

// role.json or a split file: {"tr": [nodes], …} with any keys.
std::vector<std::pair<std::string, std::vector<uint64_t>>> ReadIndexLists(const std::filesystem::path& path);

// A node-link graph. Ids and link ends are kept as text with a mark whether they were numbers.
struct NodeLinkGraph {
  std::vector<std::string> ids;          // (nodes)
  std::vector<uint8_t> roles;            // (nodes) of Role by the flags val and test; neither: train
  bool ids_are_text = false;             // any id is a string
  std::vector<uint64_t> source, target;  // (links) positions in `ids`
};
NodeLinkGraph ReadNodeLink(const std::filesystem::path& path);

// Labels of `nodes` nodes from a class map, whose ids `node_of` turns into nodes (−1: unknown, skipped).
Labels LabelsFromClassMap(const ClassMap& map, uint32_t nodes,
                          const std::function<int64_t(const std::string&)>& node_of,
                          std::vector<std::string>& class_names, const std::string& where);

}  // namespace l2gcn
