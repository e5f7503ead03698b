// The device that a method is trained on.
#pragma once

#include <string>

#include "l2gcn/train.h"

namespace l2gcn {

// The context to train `method` in. Where it has no part for the context's device: the CPU if that device was
// chosen automatically (with a note), else Error(kUsage).
Context OnCapableDevice(const Context& context, const std::string& method);

}  // namespace l2gcn
