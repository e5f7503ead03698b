// The block operations (kernels/block_ops.h) over the CPU's kernel table.
#pragma once

#include <memory>

#include "kernels/block_ops.h"

namespace l2gcn {

std::unique_ptr<BlockOps> MakeCpuBlockOps();

}  // namespace l2gcn
