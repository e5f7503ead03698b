// Finds the bytes of a text that end a cell. 64 bytes are compared at once and become the bits of a
// word. Every line within them uses that word, so the text is read once.
//
// The word is made with SSE2, which every x86-64 processor has, and elsewhere with eight bytes at a time in
// a machine word. A test holds both against a loop over bytes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace l2gcn {

constexpr size_t kMarkedBytes = 64;
using MarkedChars = std::array<char, 5>;  // A character may stand in it more than once.

// Bit k is set where text[k] is one of `chars`. Reads 64 bytes.
inline uint64_t MarksByWords(const char* text, const MarkedChars& chars) {
  static_assert(std::endian::native == std::endian::little);
  constexpr uint64_t kOnes = 0x0101010101010101u, kLow = 0x7f7f7f7f7f7f7f7fu;
  uint64_t marks = 0;
  for (size_t eight = 0; eight < kMarkedBytes; eight += 8) {
    uint64_t word = 0, hits = 0;  // The highest bit of a byte of `hits` is set where the byte is a hit.
    std::memcpy(&word, text + eight, sizeof(word));
    for (const char c : chars) {
      const uint64_t other = word ^ (kOnes * static_cast<unsigned char>(c));  // A byte that equals c is 0.
      hits |= ~(((other & kLow) + kLow) | other | kLow);
    }
    marks |= ((hits >> 7) * 0x0102040810204080u >> 56) << eight;
  }
  return marks;
}

#if defined(__SSE2__)
inline uint64_t MarksOf(const char* text, const MarkedChars& chars) {
  uint64_t marks = 0;
  for (size_t part = 0; part < kMarkedBytes; part += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + part));
    __m128i hits = _mm_setzero_si128();
    for (const char c : chars) hits = _mm_or_si128(hits, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)));
    marks |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(hits))} << part;
  }
  return marks;
}
#else
inline uint64_t MarksOf(const char* text, const MarkedChars& chars) { return MarksByWords(text, chars); }
#endif

// Walks from mark to mark. The text may change before the position reached, not behind it.
class TextMarks {
 public:
  explicit TextMarks(const MarkedChars& chars) : chars_(chars) {}

  // The next mark found will be the first at or behind `at`.
  void MoveTo(std::string_view text, size_t at) {
    if (at - window_ >= kMarkedBytes) {
      Load(text, at);
    } else {
      marks_ &= ~uint64_t{0} << (at - window_);
    }
  }
  // The next mark, or the text's size where there is none.
  size_t Next(std::string_view text) {
    while (marks_ == 0) {
      if (text.size() - window_ <= kMarkedBytes) return text.size();
      Load(text, window_ + kMarkedBytes);
    }
    const size_t mark = window_ + static_cast<size_t>(std::countr_zero(marks_));
    marks_ &= marks_ - 1;
    return mark;
  }

 private:
  void Load(std::string_view text, size_t at) {
    window_ = at;
    const size_t bytes = text.size() - at;
    if (bytes >= kMarkedBytes) {
      marks_ = MarksOf(text.data() + at, chars_);
      return;
    }
    std::array<char, kMarkedBytes> rest{};
    std::memcpy(rest.data(), text.data() + at, bytes);
    marks_ = MarksOf(rest.data(), chars_) & ((uint64_t{1} << bytes) - 1);
  }

  MarkedChars chars_;
  size_t window_ = ~size_t{0} - kMarkedBytes;  // where the 64 bytes begin; at first far from every position
  uint64_t marks_ = 0;                         // those of the 64 bytes that were not found yet
};

}  // namespace l2gcn
