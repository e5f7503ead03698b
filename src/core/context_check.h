// What public calls check of the context they are given.
#pragma once

#include "l2gcn/context.h"

namespace l2gcn {

// Throws Error(kUsage) for a context that MakeContext did not make: one with more threads than its pool has.
void CheckContext(const Context& context);

}  // namespace l2gcn
