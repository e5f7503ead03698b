// The bytes of a pickle, taken from the front, and the error that names where reading stopped.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/error_format.h"

namespace l2gcn {

class PickleInput {
 public:
  // `where` names the file and outlives this.
  PickleInput(const std::string& where, std::span<const uint8_t> bytes) : where_(where), bytes_(bytes) {}

  [[noreturn]] void Refuse(const std::string& what) const {
    ThrowInput(
        "{}: pickle refused at byte {}: {}; only plain arrays, sparse matrices, lists and dicts are read",
        where_, op_at_, what);
  }
  size_t input_bytes() const { return bytes_.size(); }
  uint8_t NextOperation() {
    op_at_ = at_;
    return U8();
  }
  std::span<const uint8_t> Take(uint64_t count) {
    if (count > bytes_.size() - at_)
      Refuse(fmt::format("{} bytes claimed, {} left (truncated)", count, bytes_.size() - at_));
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }
  uint8_t U8() { return Take(1)[0]; }
  uint64_t Little(size_t count) {
    uint64_t value = 0;
    const auto raw = Take(count);
    for (size_t i = 0; i < count; ++i) value |= uint64_t{raw[i]} << (8 * i);
    return value;
  }
  std::string_view Text(uint64_t count) {
    const auto raw = Take(count);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }
  std::string_view Line() {
    const auto* begin = bytes_.data() + at_;
    const auto* end = static_cast<const uint8_t*>(std::memchr(begin, '\n', bytes_.size() - at_));
    if (end == nullptr) Refuse("unterminated line");
    const std::string_view line = Text(static_cast<uint64_t>(end - begin));
    ++at_;
    return line;
  }

 private:
  const std::string& where_;
  std::span<const uint8_t> bytes_;
  size_t at_ = 0, op_at_ = 0;  // the next byte, and the first of the present operation
};

}  // namespace l2gcn
