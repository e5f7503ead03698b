#include "core/mapping.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace l2gcn {

std::optional<Mapping> FindMapping(uintptr_t address) {
  std::FILE* file = std::fopen("/proc/self/maps", "r");
  if (file == nullptr) return std::nullopt;
  std::optional<Mapping> found;
  char line[4096 + 128];
  while (!found && std::fgets(line, sizeof(line), file) != nullptr) {
    uintptr_t begin = 0, end = 0;
    uint64_t offset = 0, inode = 0;
    unsigned major = 0, minor = 0;
    int path = 0;
    char may[8] = {};
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &begin, &end, may,
                    &offset, &major, &minor, &inode, &path) < 7)
      continue;
    if (address < begin || address >= end) continue;
    // Pages of a private mapping that may be written may have been: their file no longer knows what they hold.
    if (may[1] == 'w' && may[3] == 'p') inode = 0;
    line[std::strcspn(line, "\n")] = 0;
    found = {begin, end, offset, inode, line + path};
  }
  std::fclose(file);
  return found;
}

}  // namespace l2gcn
