// From any format to the native directory, and back out to what other programs read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

struct ConvertOptions {
  std::string to;      // one of WrittenFormats(); empty: by the destination's name
  bool force = false;  // replace an existing destination
  // What dense features are written as in the native format: f32 or f16; nothing: as they are.
  std::optional<FeatureType> features_as;
};

// The formats that a data set can be written in, the native one first.
std::vector<std::string> WrittenFormats();

// Opens `spec` and writes it at `destination`. A lone edge list in text goes through an external sort and
// never needs more than Context::host_memory (1 GiB where that is 0), however long it is; the result is the same as
// opening and saving it. Under such a budget an array of edges (OGB's data.npz and the like) is sorted on disk, too, and
// what is mapped is let go as it is written. Returns the number of nodes.
uint64_t ConvertDataset(const Context& context, const std::string& spec, const OpenOptions& open,
                        const std::string& destination, const ConvertOptions& options);

// Compares a native directory with the checksums in its dataset.json; throws Error(kInput) naming the first
// file that differs. Returns the bytes read.
uint64_t VerifyDataset(const Context& context, const std::string& directory);

}  // namespace l2gcn
