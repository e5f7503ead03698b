// Up to which share of non-zeros aggregated features stay sparse on a device, for backends and for plans.
#pragma once

#include "l2gcn/context.h"

namespace l2gcn {

// On the CPU dense kernels' arithmetic is cheaper beyond it than sparse ones' indirection (docs/performance.md has the
// measurement); on a GPU, copying dense rows is cheaper than unpacking sparse ones.
constexpr double SparseDensityOf(DeviceKind device) { return device == DeviceKind::kCpu ? 0.25 : 0.03; }

}  // namespace l2gcn
