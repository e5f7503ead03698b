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

// The most memory this process may ever have, and what says so: the smallest of the machine's memory, the
// control group's limit and `ulimit -v`.
struct MemoryCeiling {
  uint64_t bytes = 0;
  const char* set_by = "";
};
MemoryCeiling FindMemoryCeiling();

}  // namespace l2gcn
