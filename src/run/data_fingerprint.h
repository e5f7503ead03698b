// A checksum that identifies a data set.
#pragma once

#include <string>

#include "l2gcn/dataset.h"

namespace l2gcn {

// How much of each array is read. kSamples: blocks at even distances, which costs next to nothing and detects data sets that
// were mixed up. kEverything: every byte, where any difference matters.
enum class Reads { kSamples, kEverything };

// Names, counts and a checksum of everything that training reads.
std::string DataFingerprint(const Dataset& dataset, Reads reads);

}  // namespace l2gcn
