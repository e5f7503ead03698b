// What this machine can do at best, so that a profile can say how much of it a run used.
#pragma once

#include "l2gcn/context.h"

namespace l2gcn {

struct Ceilings {
  double gflops = 0;     // our own product on operands that stay in cache, all threads of the context
  double copy_gbps = 0;  // bytes read + bytes written by a large copy, all threads
};

// Takes about half a second and 512 MiB.
Ceilings MeasureCeilings(const Context& context);

// GB/s, read and written, of copying `bytes` on all threads of the context.
double MeasureCopy(const Context& context, size_t bytes);

}  // namespace l2gcn
