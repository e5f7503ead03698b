// Memory for the panel in use, and for as much of the next one as there is room for.
//
// Both panels have addresses for all of their bytes, but while one is in use only the first `ahead` bytes of the next are
// written. When its turn comes, the pages of the other beyond these move over: they are neither copied nor cleared, which
// the system does more slowly than a disk fills them.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/error_format.h"

namespace l2gcn {

class PanelMemory {
 public:
  static constexpr size_t kUnit = size_t{2} << 20;  // a huge page

  // Memory for `bytes` and at most `ahead` more, rounded to kUnit. Throws Error(kRuntime).
  PanelMemory(size_t bytes, size_t ahead)
      : bytes_((std::max<size_t>(bytes, 1) + kUnit - 1) / kUnit * kUnit),
        ahead_(ahead >= bytes ? bytes_ : ahead / kUnit * kUnit),
        mapped_((ahead_ > 0 ? 2 : 1) * bytes_ + kUnit) {
    memory_ =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) throw Error(ErrorKind::kRuntime, OutOfMemoryMessage(bytes_));
    madvise(memory_, mapped_, MADV_HUGEPAGE);
    const auto begin = (reinterpret_cast<uintptr_t>(memory_) + kUnit - 1) / kUnit * kUnit;
    now_ = reinterpret_cast<char*>(begin);
    next_ = ahead_ > 0 ? now_ + bytes_ : now_;
  }
  ~PanelMemory() { munmap(memory_, mapped_); }
  PanelMemory(const PanelMemory&) = delete;
  PanelMemory& operator=(const PanelMemory&) = delete;

  char* now() { return now_; }
  char* next() { return next_; }
  // Bytes of the next panel that may be written while the other is in use.
  size_t ahead() const { return ahead_; }

  // The next panel is now the one in use: its first `ahead` bytes are as they were written, the others are lost.
  void Turn() {
    if (ahead_ > 0 && ahead_ < bytes_) {
      const size_t rest = bytes_ - ahead_;
      void* const moved =
          mremap(now_ + ahead_, rest, rest, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, next_ + ahead_);
      if (moved == MAP_FAILED) madvise(now_ + ahead_, rest, MADV_DONTNEED);  // an old system: fresh pages
    }
    std::swap(now_, next_);
  }

 private:
  size_t bytes_, ahead_, mapped_;
  void* memory_ = nullptr;
  char *now_ = nullptr, *next_ = nullptr;
};

}  // namespace l2gcn
