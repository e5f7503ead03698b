// Memory for the panel in use, and for as much of the next one as there is room for.
//
// Both panels have addresses for all of their bytes, but while one is in use only the first `ahead` bytes of the next are
// written. When its turn comes, the pages of the other beyond these move over: they are neither copied nor cleared, which
// the system does more slowly than a disk fills them.
//
// Memory that the system has to find and clear first may take longer than reading what goes there: a virtual machine that
// has given free memory back gets half a gigabyte a second. So pages may be asked for on a thread of its own while
// something else waits for the disk.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <utility>

#include "core/error_format.h"

namespace l2gcn {

class PanelMemory {
 public:
  static constexpr size_t kUnit = size_t{2} << 20;  // a huge page

  // Memory for `bytes` and at most `ahead` more, rounded to kUnit. Throws Error(kRuntime).
  PanelMemory(size_t bytes, size_t ahead)
      : bytes_(Rounded(bytes)),
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
  ~PanelMemory() {
    EndTouching();
    munmap(memory_, mapped_);
  }
  PanelMemory(const PanelMemory&) = delete;
  PanelMemory& operator=(const PanelMemory&) = delete;

  char* now() { return now_; }
  char* next() { return next_; }
  // Whether panels of so many bytes are what it was made for.
  bool IsFor(size_t bytes) const { return Rounded(bytes) == bytes_; }
  // Bytes of the next panel that may be written while the other is in use.
  size_t ahead() const { return ahead_; }
  // At most so many of them from now on. Nothing is there yet.
  void LimitAhead(size_t ahead) {
    const size_t limited = std::min(ahead_, ahead + kUnit > bytes_ ? bytes_ : ahead / kUnit * kUnit);
    if (limited < ahead_) madvise(next_ + limited, ahead_ - limited, MADV_DONTNEED);
    ahead_ = limited;
  }

  // All pages are asked for in the background, those of the next panel last. Nothing is there yet.
  void BeginTouching() {
    touching_ = std::async(std::launch::async, [this] {
      Touch(now_, bytes_);
      Touch(next_, ahead_);
    });
  }
  // Ends that, wherever it is. Returns the bytes that were asked for so far.
  size_t EndTouching() {
    enough_ = true;
    if (touching_.valid()) touching_.get();
    return touched_;
  }

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
  static size_t Rounded(size_t bytes) { return (std::max<size_t>(bytes, 1) + kUnit - 1) / kUnit * kUnit; }
  void Touch(char* begin, size_t bytes) {
    constexpr size_t kPage = 4096;  // in case that there is no huge one
    for (size_t at = 0; at < bytes && !enough_; at += kUnit, touched_ += kUnit) {
      for (size_t page = 0; page < kUnit; page += kPage) begin[at + page] = 0;
    }
  }

  size_t bytes_, ahead_, mapped_, touched_ = 0;
  std::atomic<bool> enough_{false};
  std::future<void> touching_;
  void* memory_ = nullptr;
  char *now_ = nullptr, *next_ = nullptr;
};

}  // namespace l2gcn
