// Rows of a matrix as kernels see them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace l2gcn::cuda {

enum class RowKind : int { kF32, kF16, kBf16, kSparse };

// Dense with `stride` elements from row to row (a multiple of 8, padding zero), or sparse.
struct DeviceRows {
  RowKind kind = RowKind::kF32;
  void* dense = nullptr;
  size_t stride = 0;
  const uint64_t* indptr = nullptr;   // (rows + 1)
  const uint32_t* columns = nullptr;  // (entries), ascending in a row
  const float* values = nullptr;      // (entries)
};

inline size_t PaddedStride(size_t columns) { return (columns + 7) / 8 * 8; }
inline size_t ElementBytes(RowKind kind) { return kind == RowKind::kF32 ? 4 : 2; }

}  // namespace l2gcn::cuda
