// How dense products are computed on a device; the CPU is always fp32. Apart from backend.h for device code,
// which a compiler of an older standard may read.
#pragma once

namespace l2gcn {

enum class Precision { kFp32, kTf32, kBf16 };

}  // namespace l2gcn
