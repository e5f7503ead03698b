// Memory for the panel in use, and for as much of the next one as there is room for.
//
// Both panels have addresses for all of their bytes, but while one is in use only the first `ahead` bytes of the next are
// written. When its turn comes, the pages of the other beyond these move over: they are neither copied nor cleared, which
// the system does more slowly than a disk fills them. For the same reason the pages of a panel can stay from one
// aggregation to the next, and can be asked for in the background before the first one begins: a virtual machine may hand
// out fresh pages at half a gigabyte a second.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error_format.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; older ones refuse it
#endif

namespace l2gcn {

class PanelMemory {
 public:
  static constexpr size_t kUnit = size_t{2} << 20;  // a huge page

  // Addresses for panels of up to `most` bytes; no page of them is there yet. Throws Error(kRuntime).
  explicit PanelMemory(size_t most)
      : most_((std::max<size_t>(most, 1) + kUnit - 1) / kUnit * kUnit), mapped_(2 * most_ + kUnit) {
    memory_ =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) throw Error(ErrorKind::kRuntime, OutOfMemoryMessage(most_));
    madvise(memory_, mapped_, MADV_HUGEPAGE);
    const auto begin = (reinterpret_cast<uintptr_t>(memory_) + kUnit - 1) / kUnit * kUnit;
    now_ = reinterpret_cast<char*>(begin);
    next_ = now_ + most_;
  }
  ~PanelMemory() {
    StopFilling();
    munmap(memory_, mapped_);
  }
  PanelMemory(const PanelMemory&) = delete;
  PanelMemory& operator=(const PanelMemory&) = delete;

  size_t most() const { return most_; }
  // Bytes whose pages are there, at most.
  size_t held() const { return held_now_ + held_next_; }

  // Pages for the first `bytes` of a panel, and then for the first `ahead` of the next, are asked for in the background.
  // Nobody may use the memory before Shape.
  void FillInBackground(size_t bytes, size_t ahead) {
    try {
      filling_ = std::thread(
          [this, bytes, ahead] { Fill(now_, bytes, held_now_) && Fill(next_, ahead, held_next_); });
    } catch (const std::system_error&) {  // no thread to be had: pages come when they are written
    }
  }
  void StopFilling() {
    stop_ = true;
    if (filling_.joinable()) filling_.join();
    stop_ = false;
  }

  // For panels of `bytes`, at most most(), and at most `ahead` of the next one, both rounded to kUnit. Pages beyond these
  // are given back, what was in the others is lost.
  void Shape(size_t bytes, size_t ahead) {
    StopFilling();
    L2GCN_ASSERT(bytes <= most_);
    bytes_ = (std::max<size_t>(bytes, 1) + kUnit - 1) / kUnit * kUnit;
    ahead_ = ahead >= bytes ? bytes_ : ahead / kUnit * kUnit;
    GiveBack(now_, bytes_, held_now_);
    GiveBack(next_, ahead_, held_next_);
  }

  char* now() { return now_; }
  char* next() { return ahead_ > 0 ? next_ : now_; }
  // Bytes of the next panel that may be written while the other is in use.
  size_t ahead() const { return ahead_; }
  // Both have been written.
  void CountWritten() {
    held_now_ = std::max<size_t>(held_now_, bytes_);
    held_next_ = std::max<size_t>(held_next_, ahead_);
  }

  // The next panel is now the one in use: its first `ahead` bytes are as they were written, the others are lost.
  void Turn() {
    CountWritten();
    if (ahead_ == 0) return;
    if (ahead_ < bytes_) {
      const size_t rest = bytes_ - ahead_;
      void* const moved =
          mremap(now_ + ahead_, rest, rest, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, next_ + ahead_);
      if (moved == MAP_FAILED) madvise(now_ + ahead_, rest, MADV_DONTNEED);  // an old system: fresh pages
    }
    std::swap(now_, next_);
  }

 private:
  // Returns whether all pages are there.
  bool Fill(char* panel, size_t bytes, std::atomic<size_t>& held) {
    for (const size_t end = std::min(most_, bytes); held < end && !stop_; held += kUnit) {
      if (madvise(panel + held, kUnit, MADV_POPULATE_WRITE) != 0) return false;
    }
    return !stop_;
  }
  // Pages of a panel beyond its first `keep` bytes.
  static void GiveBack(char* panel, size_t keep, std::atomic<size_t>& held) {
    if (held <= keep) return;
    madvise(panel + keep, held - keep, MADV_DONTNEED);
    held = keep;
  }

  const size_t most_, mapped_;
  size_t bytes_ = 0, ahead_ = 0;
  void* memory_ = nullptr;
  char *now_ = nullptr, *next_ = nullptr;
  std::atomic<size_t> held_now_{0},
      held_next_{0};  // bytes from the beginning of each whose pages may be there
  std::atomic<bool> stop_{false};
  std::thread filling_;
};

}  // namespace l2gcn
