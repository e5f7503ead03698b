#include "core/memory_meter.h"

#include <cstdio>
#include <cstring>

namespace l2gcn {
namespace {

uint64_t StatusField(const char* name) {
  std::FILE* file = std::fopen("/proc/self/status", "r");
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

uint64_t PeakResidentBytes() { return StatusField("VmHWM:"); }
uint64_t ResidentBytes() { return StatusField("VmRSS:"); }

bool ResetPeakResidentBytes() {
  std::FILE* file = std::fopen("/proc/self/clear_refs", "w");
  if (file == nullptr) return false;
  const bool written = std::fputs("5", file) >= 0;
  return (std::fclose(file) == 0) && written;
}

}  // namespace l2gcn
