// The CPU as a Backend. Uploading shares memory, so features are never copied.
#pragma once

#include <memory>

#include "kernels/backend.h"

namespace l2gcn {

std::unique_ptr<Backend> MakeCpuBackend(const BackendOptions& options);

}  // namespace l2gcn
