// The CPU as a Backend. Uploading shares memory: features are prepared and widened where rows are read, and
// copied only where another storage type was asked for or where a projection makes them narrower.
#pragma once

#include <memory>

#include "kernels/backend.h"

namespace l2gcn {

std::unique_ptr<Backend> MakeCpuBackend(const BackendOptions& options);

}  // namespace l2gcn
