// Trained seeds on their way from rank to rank.
#pragma once

#include <string>

#include "l2gcn/train.h"

namespace l2gcn {

// A trained and evaluated seed as bytes.
std::string PackTrained(const Trained& trained);
Trained UnpackTrained(const std::string& bytes);

}  // namespace l2gcn
