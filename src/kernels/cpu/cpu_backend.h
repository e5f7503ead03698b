// The CPU as a Backend. Uploading shares memory: features are prepared and widened where rows are read, and
// copied only where another storage type was asked for or where a projection makes them narrower.
#pragma once

#include <memory>

#include "kernels/backend.h"

namespace l2gcn {

// With `disk`, large matrices are placed in scratch files.
std::unique_ptr<Backend> MakeCpuBackend(const BackendOptions& options,
                                        std::shared_ptr<DiskMemory> disk = nullptr);

}  // namespace l2gcn
