// What tells two data sets apart without reading them whole.
#pragma once

#include <string>

#include "l2gcn/dataset.h"

namespace l2gcn {

// Names, counts and a checksum of samples of everything that training reads.
std::string DataFingerprint(const Dataset& dataset);

}  // namespace l2gcn
