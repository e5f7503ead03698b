// What this machine can do at best, so that a profile can say how much of it a run used.
#pragma once

#include "l2gcn/context.h"

namespace l2gcn {

// GFLOP/s of our own product on operands that stay in cache, on all threads of the context.
double MeasureProduct(const Context& context);

// GB/s, read and written, of copying `bytes` on all threads of the context.
double MeasureCopy(const Context& context, size_t bytes = size_t{1} << 28);

}  // namespace l2gcn
