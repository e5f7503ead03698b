// Least-significant-digit radix sort by a 64-bit key, 11 bits a pass; passes in which all keys agree are
// skipped.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace l2gcn {

// Sorts `items` by item.key, stably; `scratch` has the same length and is overwritten.
template <class Item>
void RadixSort(std::span<Item> items, std::span<Item> scratch) {
  constexpr unsigned kDigitBits = 11, kDigits = (64 + kDigitBits - 1) / kDigitBits;
  constexpr size_t kBuckets = size_t{1} << kDigitBits;
  std::vector<std::array<uint64_t, kBuckets>> counts(kDigits);
  for (auto& count : counts) count.fill(0);
  for (const Item& item : items) {
    for (unsigned d = 0; d < kDigits; ++d) ++counts[d][(item.key >> (d * kDigitBits)) & (kBuckets - 1)];
  }
  Item* from = items.data();
  Item* to = scratch.data();
  for (unsigned d = 0; d < kDigits; ++d) {
    auto& count = counts[d];
    if (items.empty() || count[(items[0].key >> (d * kDigitBits)) & (kBuckets - 1)] == items.size()) continue;
    uint64_t start = 0;
    for (uint64_t& bucket : count) {
      const uint64_t size = bucket;
      bucket = start;
      start += size;
    }
    for (size_t i = 0; i < items.size(); ++i)
      to[count[(from[i].key >> (d * kDigitBits)) & (kBuckets - 1)]++] = from[i];
    std::swap(from, to);
  }
  if (from != items.data()) std::copy(from, from + items.size(), items.data());
}

}  // namespace l2gcn
