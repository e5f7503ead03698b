// How dense products are computed on a device. A CPU computes bf16 where it has AMX, and everything else in fp32. Apart
// from backend.h for device code, which a compiler of an older standard may read.
#pragma once

namespace l2gcn {

enum class Precision { kFp32, kTf32, kBf16 };

}  // namespace l2gcn
