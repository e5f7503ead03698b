// The constant that LayerNorm adds to a row's variance, on every device.
#pragma once

namespace l2gcn {

inline constexpr float kNormEpsilon = 1e-5f;

}  // namespace l2gcn
