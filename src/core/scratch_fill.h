// Fills an array that may lie in a block of scratch (core/disk_memory.h) from several threads, each part of it from its
// beginning to its end. Bytes are put together in a buffer of each thread and go to the file past the page cache, so none
// of the block's pages is made resident, cleared or looked up one by one, which takes longer than the disk does.
//
// Parts must leave nothing out between them. Pages at their ends may be shared by several parts; they are kept aside and
// written once all parts are there. Where the array lies in memory it is written there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "core/disk_memory.h"

namespace l2gcn {

class ScratchFill {
 public:
  // `disk` may be null; it must stay.
  ScratchFill(const DiskMemory* disk, size_t workers) : disk_(disk), parts_(workers) {}

  // A worker's next part begins at `to`.
  void Begin(size_t worker, void* to) {
    Part& part = parts_[worker];
    part.begin = part.end = reinterpret_cast<uintptr_t>(to) % kPage;
    part.base = static_cast<char*>(to) - part.begin;
  }
  void Append(size_t worker, const void* from, size_t bytes) {
    Part& part = parts_[worker];
    const char* next = static_cast<const char*>(from);
    while (bytes > 0) {
      const size_t count = std::min(bytes, kBufferBytes - part.end);
      std::memcpy(part.buffer.Reserve(kBufferBytes) + part.end, next, count);
      part.end += count;
      next += count;
      bytes -= count;
      if (part.end < kBufferBytes) continue;
      Write(part);
      part.base += kBufferBytes;
      part.begin = part.end = 0;
    }
  }
  void End(size_t worker) { Write(parts_[worker]); }
  // All workers have ended their parts.
  void Finish() {
    std::vector<Rest> rests;
    for (Part& part : parts_) std::move(part.rests.begin(), part.rests.end(), std::back_inserter(rests));
    for (Part& part : parts_) part.rests.clear();
    std::sort(rests.begin(), rests.end(), [](const Rest& a, const Rest& b) { return a.to < b.to; });
    for (size_t begin = 0, end = 0; begin < rests.size(); begin = end) {
      while (end < rests.size() && rests[end].page() == rests[begin].page()) ++end;
      WritePageOf({rests.begin() + static_cast<std::ptrdiff_t>(begin), end - begin});
    }
  }

 private:
  static constexpr size_t kPage = ScratchPages::kPage;
  static constexpr size_t kBufferBytes = size_t{1} << 20;

  // Less than a page.
  struct Rest {
    char* to;
    std::vector<char> bytes;
    size_t offset() const { return reinterpret_cast<uintptr_t>(to) % kPage; }
    char* page() const { return to - offset(); }
  };
  struct Part {
    char* base = nullptr;       // what the buffer's first byte stands for; a page begins there
    size_t begin = 0, end = 0;  // of the bytes in the buffer
    DiskBuffer buffer;
    std::vector<Rest> rests;
  };

  void Write(Part& part) {
    if (part.begin == part.end) return;
    const char* const from = part.buffer.Reserve(kBufferBytes);
    const size_t first = std::min(part.end, (part.begin + kPage - 1) / kPage * kPage);
    const size_t last = std::max(first, part.end / kPage * kPage);
    KeepAside(part, part.begin, first);
    if (disk_ == nullptr || !disk_->WritePages(part.base + first, from + first, last - first))
      std::memcpy(part.base + first, from + first, last - first);
    KeepAside(part, last, part.end);
  }
  // What is known of one page.
  void WritePageOf(std::span<const Rest> rests) {
    char* const page = parts_.front().buffer.Reserve(kBufferBytes);
    std::memset(page, 0, kPage);
    for (const Rest& rest : rests) std::memcpy(page + rest.offset(), rest.bytes.data(), rest.bytes.size());
    if (disk_ != nullptr && disk_->WritePages(rests.front().page(), page, kPage)) return;
    for (const Rest& rest : rests) std::memcpy(rest.to, rest.bytes.data(), rest.bytes.size());
  }
  static void KeepAside(Part& part, size_t begin, size_t end) {
    if (begin == end) return;
    const char* const from = part.buffer.Reserve(kBufferBytes);
    part.rests.push_back({part.base + begin, {from + begin, from + end}});
  }

  const DiskMemory* const disk_;
  std::vector<Part> parts_;
};

}  // namespace l2gcn
