// Peak resident memory of this process, in bytes (VmHWM).
#pragma once

#include <cstdint>

namespace l2gcn {

uint64_t PeakResidentBytes();
uint64_t ResidentBytes();
// Starts the peak anew from here where the kernel allows it; returns whether it did.
bool ResetPeakResidentBytes();

}  // namespace l2gcn
