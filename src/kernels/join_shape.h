// The counts of tensors side by side, for backends that keep the parts as they are.
#pragma once

#include <span>

#include "core/error_format.h"
#include "kernels/backend.h"

namespace l2gcn {

// Fills in what a Tensor says of itself; `joined` is new. All parts have as many rows. It is sparse if all of them are.
inline void JoinShape(std::span<const TensorPtr> parts, Tensor& joined) {
  joined.rows = parts.front()->rows;
  joined.sparse = true;
  for (const TensorPtr& part : parts) {
    L2GCN_ASSERT(part->rows == joined.rows);
    joined.cols += part->cols;
    joined.bytes += part->bytes;
    joined.nonzeros += part->nonzeros;
    joined.sparse = joined.sparse && part->sparse;
  }
}

}  // namespace l2gcn
