// What tells two data sets apart.
#pragma once

#include <string>

#include "l2gcn/dataset.h"

namespace l2gcn {

// Of each array, how much is read: blocks that are spread evenly over it, which costs nothing and finds two data sets that
// were mixed up; or every byte, where what follows must not be another data set's.
enum class Reads { kSamples, kEverything };

// Names, counts and a checksum of everything that training reads.
std::string DataFingerprint(const Dataset& dataset, Reads reads);

}  // namespace l2gcn
