#include "core/memory_meter.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "l2gcn/error.h"

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

// A sanitiser has an allocator of its own beside the C library's, and shadow memory that is not the program's.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitised = true;
#else
constexpr bool kSanitised = false;
#endif

}  // namespace

uint64_t PeakResidentBytes() { return ProcField("/proc/self/status", "VmHWM:"); }
uint64_t ResidentBytes() { return ProcField("/proc/self/status", "VmRSS:"); }
uint64_t AnonymousBytes() { return kSanitised ? 0 : ProcField("/proc/self/status", "RssAnon:"); }
uint64_t AvailableBytes() { return ProcField("/proc/meminfo", "MemAvailable:"); }

namespace {

// memory.max of this process's control group (version 2) and of those above it; 0 where there is no limit.
uint64_t GroupLimit() {
  char line[4096] = {};
  std::FILE* groups = std::fopen("/proc/self/cgroup", "r");
  if (groups == nullptr) return 0;
  std::string group;
  while (std::fgets(line, sizeof(line), groups) != nullptr) {
    if (std::strncmp(line, "0::", 3) == 0) group.assign(line + 3, std::strcspn(line + 3, "\n"));
  }
  std::fclose(groups);
  uint64_t smallest = 0;
  for (;;) {
    std::FILE* file = std::fopen(("/sys/fs/cgroup" + group + "/memory.max").c_str(), "r");
    unsigned long long bytes = 0;
    if (file != nullptr) {
      if (std::fscanf(file, "%llu", &bytes) == 1 && (smallest == 0 || bytes < smallest)) smallest = bytes;
      std::fclose(file);
    }
    const size_t slash = group.rfind('/');
    if (slash == std::string::npos) return smallest;
    group.resize(slash);
  }
}

}  // namespace

MemoryCeiling FindMemoryCeiling() {
  MemoryCeiling ceiling{
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)),
      "this machine's memory"};
  if (const uint64_t group = GroupLimit(); group > 0 && group < ceiling.bytes)
    ceiling = {group, "the control group's limit"};
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < ceiling.bytes)
    ceiling = {limit.rlim_cur, "ulimit -v", true};
  return ceiling;
}

std::string OutOfMemoryMessage(size_t bytes) {
  const auto gib = [](uint64_t count) { return static_cast<double>(count) / (uint64_t{1} << 30); };
  const MemoryCeiling ceiling = FindMemoryCeiling();
  const std::string last_request =
      bytes > 0 ? fmt::format("{:.3f} GiB were asked for at once, with ", gib(bytes)) : "";
  return fmt::format(
      "out of memory: {}{:.2f} GiB in use and at most {:.2f} GiB to be had ({}); use fewer --threads, a "
      "smaller "
      "--hidden or --batch, --features-as f16, a smaller graph, or more memory",
      last_request, gib(ResidentBytes()), gib(ceiling.bytes), ceiling.set_by);
}

bool ResetPeakResidentBytes() {
  std::FILE* file = std::fopen("/proc/self/clear_refs", "w");
  if (file == nullptr) return false;
  const bool written = std::fputs("5", file) >= 0;
  return (std::fclose(file) == 0) && written;
}

void ReturnFreeMemory() {
#ifdef __GLIBC__
  constexpr uint64_t kSmallProcess = uint64_t{64} << 20;
  if (!kSanitised && ResidentBytes() > kSmallProcess) malloc_trim(0);
#endif
}

void StretchMeter::Restart() {
  peak_ = PeakResidentBytes();
  resident_ = ResidentBytes();
}

void StretchMeter::End(uint64_t& most) {
  const uint64_t peak = peak_, resident = resident_;
  Restart();
  most = std::max({most, resident, resident_, peak_ > peak ? peak_ : 0});
}

void PeakMeter::Pause() { before_ = Peak(); }

void PeakMeter::Resume() { ResetPeakResidentBytes(); }

uint64_t PeakMeter::Peak() const { return std::max(before_, PeakResidentBytes()); }

}  // namespace l2gcn
