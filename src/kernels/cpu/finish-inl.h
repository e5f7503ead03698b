// What happens to a vector of a product before it is stored (see Finish in kernels.h).
#pragma once

#include "kernels/cpu/vec-inl.h"

namespace l2gcn {
namespace {

inline void FinishAndStore(const GemmArgs& g, size_t row, size_t column, Vec value) {
  const size_t at = row * g.ldc + column;
  if (g.finish == Finish::kRelu) value = PositivePart(value);
  if (g.finish == Finish::kMask) value = Load(g.mask + at) > 0.0f ? value * g.mask_scale : Vec{};
  Store(g.c + at, value);
}

}  // namespace
}  // namespace l2gcn
