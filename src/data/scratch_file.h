// A file of equal items that was written once, is read by position from any thread, and is removed at the
// end.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "core/error_format.h"

namespace l2gcn {

template <class Item>
class ScratchFile {
 public:
  ScratchFile(std::filesystem::path path, uint64_t size) : path_(std::move(path)), size_(size) {
    descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) ThrowRuntime("{}: cannot open: {}", path_.string(), std::strerror(errno));
  }
  ~ScratchFile() {
    close(descriptor_);
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  uint64_t size() const { return size_; }  // items
  void Read(uint64_t at, Item* to, size_t count) const {
    auto* bytes = reinterpret_cast<char*>(to);
    size_t left = count * sizeof(Item);
    uint64_t offset = at * sizeof(Item);
    while (left > 0) {
      const ssize_t got = pread(descriptor_, bytes, left, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0)
        ThrowRuntime("{}: cannot read back: {}", path_.string(),
                     got < 0 ? std::strerror(errno) : "truncated");
      bytes += got;
      offset += static_cast<uint64_t>(got);
      left -= static_cast<size_t>(got);
    }
  }

 private:
  std::filesystem::path path_;
  uint64_t size_;
  int descriptor_ = -1;
};

}  // namespace l2gcn
