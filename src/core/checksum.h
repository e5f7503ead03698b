// Checksums of files and memory: XXH3, 64 bits. They find damage, not malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace l2gcn {

uint64_t Checksum(std::span<const uint8_t> bytes);
uint64_t Checksum(const void* data, size_t bytes);
std::string ChecksumText(uint64_t sum);  // 16 hexadecimal digits

// The checksum of bytes that come piece by piece. How they are cut does not matter.
class ChecksumStream {
 public:
  ChecksumStream();
  ~ChecksumStream();
  ChecksumStream(ChecksumStream&&) noexcept;
  void Add(const void* data, size_t bytes);
  uint64_t Sum() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace l2gcn
