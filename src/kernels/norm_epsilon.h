// Constants of LayerNorm and batch norm, on every device.
#pragma once

namespace l2gcn {

inline constexpr float kNormEpsilon = 1e-5f;  // added to a variance
inline constexpr float kRunningShare =
    0.1f;  // of a batch's statistics in batch norm's running ones (PyTorch's momentum)

}  // namespace l2gcn
