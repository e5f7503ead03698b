// How elements of features are stored. Arithmetic is in f32 whatever the storage. This header holds nothing
// else, because the CPU kernels may include nothing that defines inline functions (kernels/cpu/vec-inl.h says
// why).
#pragma once

namespace l2gcn {

enum class FeatureType { kF32, kF16, kBf16 };

}  // namespace l2gcn
