// Memory in bytes: the peak (VmHWM) and present size of this process, and what the machine has left.
#pragma once

#include <cstdint>

namespace l2gcn {

uint64_t PeakResidentBytes();
uint64_t ResidentBytes();
// What the machine could still give without swapping (MemAvailable); 0 where it does not say.
uint64_t AvailableBytes();
// Starts the peak anew from here where the kernel allows it; returns whether it did.
bool ResetPeakResidentBytes();

}  // namespace l2gcn
