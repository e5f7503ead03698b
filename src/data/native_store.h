// The native data set: a directory of plain .npy files and dataset.json, opened by mapping.
//
// clang-format off: the lines of this table must not be joined
//   dataset.json            format version, counts, names, node types, splits; length and XXH3 checksum of each file
//                           and of each MiB of it; a checksum of its own
//   graph_indptr.npy        (nodes + 1) u8
//   graph_indices.npy       (entries) u4
//   graph_weights.npy       (entries) f4, only if edges have weights
//   relation_K_*.npy        the same three of relation K, where it does not share the rows of another graph
//   features.npy            (nodes × features) f4 or f2; where features are sparse, these three instead:
//     features_indptr.npy   (nodes + 1) u8
//     features_indices.npy  (non-zeros) u4
//     features_values.npy   (non-zeros) f4
//   labels.npy              (nodes) i4, −1 = unlabelled; or, with several labels a node, (nodes × classes) u1; or, of a
//                           regression, (nodes × targets) f4, NaN = missing
//   node_weights.npy        (nodes) f4, only of a regression: by what nodes count in its loss
//   labelled.npy            (nodes) u1, only with several labels a node: whether the node has labels
//   split_K.npy             (nodes) u1: 0 none, 1 train, 2 validation, 3 test
//   node_ids.npy            (nodes) i8; or, where ids are text, these two instead:
//     node_names_offsets.npy  (nodes + 1) u8
//     node_names_text.npy     (bytes) u1
// clang-format on
//
// Guarantees: opening takes milliseconds for any size, since it reads dataset.json and the headers alone;
// lengths are checked there, and dataset.json has a checksum of its own; values are checked by ValidateDataset,
// bytes by VerifyNative and, where `verify` asks for it, block by block before they are used. Names in
// dataset.json never become paths outside the directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "l2gcn/dataset.h"

namespace l2gcn {

constexpr const char* kManifestFile = "dataset.json";
constexpr const char* kGraphIndptrFile = "graph_indptr.npy";
constexpr const char* kGraphIndicesFile = "graph_indices.npy";
constexpr const char* kGraphWeightsFile = "graph_weights.npy";
constexpr const char* kFeaturesFile = "features.npy";
constexpr const char* kFeatureIndptrFile = "features_indptr.npy";
constexpr const char* kFeatureIndicesFile = "features_indices.npy";
constexpr const char* kFeatureValuesFile = "features_values.npy";
constexpr const char* kLabelsFile = "labels.npy";
constexpr const char* kLabelledFile = "labelled.npy";
constexpr const char* kNodeWeightsFile = "node_weights.npy";
constexpr const char* kNodeIdsFile = "node_ids.npy";
constexpr const char* kNameOffsetsFile = "node_names_offsets.npy";
constexpr const char* kNameTextFile = "node_names_text.npy";
std::string SplitFile(size_t k);
std::string SplitColumnFile(size_t k);

// A relation as dataset.json has it. `rows_of` is 0 where it shares the rows of the graph, k + 1 where those of relation k.
inline constexpr uint32_t kOwnRows = ~0u;
struct StoredRelation {
  std::string name;
  bool directed = false;
  uint32_t rows_of = kOwnRows;
};

// What dataset.json says besides the files.
struct NativeInfo {
  std::string name, preset_row;
  uint32_t nodes = 0;
  uint64_t edges = 0, self_loops = 0, features = 0;
  bool directed = false, inductive = false;
  std::vector<StoredRelation> relations;
  bool multilabel = false, regression = false;
  uint32_t classes = 0;
  std::vector<std::string> class_names;    // (classes) or empty
  std::vector<std::string> splits;         // names; split k lies in SplitFile(k)
  std::vector<std::string> split_columns;  // names; column k lies in SplitColumnFile(k)
  Graph::Changes changes;
  TableSchema schema;                // where the features come from a table
  std::vector<NodeType> node_types;  // where there are several
};
NativeInfo InfoOf(const Dataset& dataset);

// Throws Error(kUsage) if something other than a native data set lies at `directory`: --force must not remove
// it.
void RefuseToReplaceOthers(const std::filesystem::path& directory);

bool IsNative(const std::filesystem::path& directory);
// If `verify`, every block of every file is compared with its checksum first, where dataset.json has them.
Dataset OpenNative(const Context& context, const std::filesystem::path& directory, bool verify = false);

// SaveDataset with dense features of another type: f32 or f16.
void SaveDatasetAs(const Context& context, const Dataset& dataset, const std::string& directory, bool force,
                   std::optional<FeatureType> features_as);

// Sparse features are written as they are stored; dense ones block by block, as `as` says or as they are stored: f32 as
// f4, f16 as f2, and bf16, which NumPy does not have, as f4.
void WriteFeatures(const Context& context, const Features& features, std::optional<FeatureType> as,
                   const std::filesystem::path& directory);

// Writes dataset.json for the .npy files that already lie in `directory`: the last step of every writer.
void WriteManifest(const std::filesystem::path& directory, const NativeInfo& info);

// Compares every file with the length and checksum in dataset.json; throws Error(kInput) naming the first
// that differs. Returns the bytes read.
uint64_t VerifyNative(const Context& context, const std::filesystem::path& directory);

// The checksum of the file that `data` is mapped from, where that is a file of a native directory: as dataset.json has it,
// or of the bytes if the file was written later than that. Nothing for other memory.
std::optional<std::string> ChecksumOfMapped(const void* data);

}  // namespace l2gcn
