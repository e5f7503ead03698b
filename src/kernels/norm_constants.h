// Constants of LayerNorm and batch norm, on every device.
#pragma once

namespace l2gcn {

// Added to a variance.
inline constexpr float kNormEpsilon = 1e-5f;
// What a batch's statistics count for in batch norm's running ones (PyTorch's momentum).
inline constexpr float kRunningShare = 0.1f;

}  // namespace l2gcn
