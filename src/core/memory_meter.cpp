#include "core/memory_meter.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace l2gcn {
namespace {

// A line "name   123 kB" of a file under /proc, in bytes; 0 where it is missing.
uint64_t ProcField(const char* path, const char* name) {
  std::FILE* file = std::fopen(path, "r");
  if (file == nullptr) return 0;
  char line[256];
  unsigned long long kib = 0;
  const size_t length = std::strlen(name);
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::strncmp(line, name, length) == 0) {
      std::sscanf(line + length, "%llu", &kib);
      break;
    }
  }
  std::fclose(file);
  return static_cast<uint64_t>(kib) * 1024;
}

}  // namespace

uint64_t PeakResidentBytes() { return ProcField("/proc/self/status", "VmHWM:"); }
uint64_t ResidentBytes() { return ProcField("/proc/self/status", "VmRSS:"); }
uint64_t AvailableBytes() { return ProcField("/proc/meminfo", "MemAvailable:"); }

bool ResetPeakResidentBytes() {
  std::FILE* file = std::fopen("/proc/self/clear_refs", "w");
  if (file == nullptr) return false;
  const bool written = std::fputs("5", file) >= 0;
  return (std::fclose(file) == 0) && written;
}

void PeakMeter::Pause() { before_ = Peak(); }

void PeakMeter::Resume() { ResetPeakResidentBytes(); }

uint64_t PeakMeter::Peak() const { return std::max(before_, PeakResidentBytes()); }

}  // namespace l2gcn
