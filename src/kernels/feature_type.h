// How X and X̂ are stored. Arithmetic is in f32 whatever the storage. A header of its own because the kernels
// may include nothing that defines inline functions (cpu/vec-inl.h says why).
#pragma once

namespace l2gcn {

enum class FeatureType { kF32, kF16, kBf16 };

}  // namespace l2gcn
