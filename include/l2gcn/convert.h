// From any format to the native directory, and back out to what other programs read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// The formats that a data set can be written in, the native one first.
std::vector<std::string> WrittenFormats();

// Opens `spec` and writes it at `destination`. A lone edge list in text goes through an external sort and
// never needs more than Context::host_memory (1 GiB where that is 0), however long it is; the result is the same as
// opening and saving it. Under such a budget an array of edges (OGB's data.npz and the like) is sorted on disk, too, and
// what is mapped is let go as it is written. Returns the number of nodes.
//
// `to` is one of WrittenFormats(), or empty: by the destination's name. `force` replaces an existing destination. Dense
// features are written to the native format as f32 or f16 if `features_as` says so, else as they are.
uint64_t ConvertDataset(const Context& context, const std::string& spec, const OpenOptions& open,
                        const std::string& destination, const std::string& to = "", bool force = false,
                        std::optional<FeatureType> features_as = {});

// Compares a native directory with the checksums in its dataset.json; throws Error(kInput) naming the first
// file that differs. Returns the bytes read.
uint64_t VerifyDataset(const Context& context, const std::string& directory);

}  // namespace l2gcn
