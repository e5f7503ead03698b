// Memory in bytes: the peak (VmHWM) and present size of this process, and what the machine has left.
#pragma once

#include <cstdint>

namespace l2gcn {

inline constexpr double kMiB = 1024.0 * 1024.0;

uint64_t PeakResidentBytes();
uint64_t ResidentBytes();
// The part of the resident bytes that is not mapped from files.
uint64_t AnonymousBytes();
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

// Gives free memory of the heap back to the system, where the C library can and the process is large enough for it to
// matter: pages that reading and preparing left behind would otherwise stand beside the matrices of what comes next.
void ReturnFreeMemory();

// What is known of the memory of a stretch of work, without disturbing the peak of the process: the peak where the work
// raised it, else what was resident at its begin or end.
class StretchMeter {
 public:
  StretchMeter() { Restart(); }
  // The stretch ends here and the next begins. `most` becomes the larger of itself and what the stretch took.
  void End(uint64_t& most);
  // Forgets what was done since the last end.
  void Restart();

 private:
  uint64_t peak_ = 0, resident_ = 0;  // when the stretch began
};

// The most memory this process may ever have, and what says so: the smallest of the machine's memory, the
// control group's limit and `ulimit -v`.
struct MemoryCeiling {
  uint64_t bytes = 0;
  const char* set_by = "";
  bool of_addresses = false;  // a limit on addresses, not on memory
};
MemoryCeiling FindMemoryCeiling();

}  // namespace l2gcn
