// Memory in bytes: the peak (VmHWM) and present size of this process, and what the machine has left.
#pragma once

#include <cstdint>

namespace l2gcn {

inline constexpr double kMiB = 1024.0 * 1024.0;

uint64_t PeakResidentBytes();
uint64_t ResidentBytes();
// What the machine could still give without swapping (MemAvailable); 0 where it does not say.
uint64_t AvailableBytes();
// Starts the peak anew from here where the kernel allows it; returns whether it did.
bool ResetPeakResidentBytes();

// The peak since the process began or since its peak was last reset, less what happens between Pause and
// Resume.
class PeakMeter {
 public:
  void Pause();
  void Resume();
  uint64_t Peak() const;

 private:
  uint64_t before_ = 0;  // peak up to the last pause
};

}  // namespace l2gcn
