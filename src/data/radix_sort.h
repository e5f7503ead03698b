// Sorting by a 64-bit key, piece by piece: every piece is sorted while it lies in the second-level cache, and
// handed over there.
//
// Method: one pass over all items cuts them by their highest differing bits into buckets; neighbouring small
// buckets together are a piece, large ones are cut again. A piece is sorted by its highest 16 to 24 differing
// bits, least significant digit first, 8 bits a pass, which puts nearly all keys in place where keys are
// spread; insertions do the rest. Where they would have to move items far, the remaining digits are sorted as
// well. Digits in which all keys of a piece agree cost nothing.
//
// Guarantees: stable; time linear in the items and in the bits of a key, whatever the keys.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace l2gcn {
namespace radix {

constexpr size_t kPieceBytes = size_t{1} << 17;  // with its scratch a quarter of a second-level cache
constexpr unsigned kDigitBits = 8, kMostCutBits = 11;
constexpr size_t kMovesPerItem = 4;  // by insertion, before the remaining digits are cheaper

// Bits in which the keys differ.
template <class Item>
uint64_t DifferingBits(std::span<const Item> items) {
  uint64_t bits = 0;
  for (const Item& item : items) bits |= item.key ^ items[0].key;
  return bits;
}

// The `digits` highest digits of the set bits, as a mask.
inline uint64_t HighestDigits(uint64_t bits, unsigned digits) {
  uint64_t rest = bits;
  for (unsigned d = 0; d < digits && rest != 0; ++d) {
    const auto width = static_cast<unsigned>(std::bit_width(rest));
    rest &= (uint64_t{1} << (width > kDigitBits ? width - kDigitBits : 0)) - 1;
  }
  return bits & ~rest;
}

// Sorts `from` by the digits that hold the set bits of `bits`; returns where the result lies: `from` or `to`.
template <class Item>
std::span<Item> SortDigits(std::span<Item> from, std::span<Item> to, uint64_t bits) {
  constexpr size_t kBuckets = size_t{1} << kDigitBits;
  unsigned shifts[64 / kDigitBits];
  unsigned digits = 0;
  for (; bits != 0; ++digits) {
    shifts[digits] = std::min<unsigned>(static_cast<unsigned>(std::countr_zero(bits)), 64 - kDigitBits);
    bits &= ~((kBuckets - 1) << shifts[digits]);
  }
  uint64_t counts[64 / kDigitBits][kBuckets];
  std::memset(counts, 0, sizeof(counts[0]) * digits);
  for (const Item& item : from) {
    for (unsigned d = 0; d < digits; ++d) ++counts[d][(item.key >> shifts[d]) & (kBuckets - 1)];
  }
  for (unsigned d = 0; d < digits; ++d) {
    uint64_t start = 0;
    for (uint64_t& count : counts[d]) start += std::exchange(count, start);
    uint64_t* const next = counts[d];
    Item* const out = to.data();
    for (const Item& item : from) out[next[(item.key >> shifts[d]) & (kBuckets - 1)]++] = item;
    std::swap(from, to);
  }
  return from;
}

// Finishes items that are nearly in order; gives up, with all items still there, after `moves` moves.
template <class Item>
bool InsertNearby(std::span<Item> items, size_t moves) {
  for (size_t i = 1; i < items.size(); ++i) {
    if (items[i - 1].key <= items[i].key) continue;
    const Item item = items[i];
    size_t at = i;
    for (; at > 0 && items[at - 1].key > item.key && moves > 0; --at, --moves) items[at] = items[at - 1];
    items[at] = item;
    if (moves == 0) return false;
  }
  return true;
}

template <class Item>
std::span<Item> SortPiece(std::span<Item> from, std::span<Item> to, uint64_t differing) {
  const unsigned size_bits = static_cast<unsigned>(std::bit_width(from.size()));
  const unsigned digits = size_bits + 2 <= 2 * kDigitBits ? 2 : 3;
  const uint64_t high = HighestDigits(differing, digits);
  const std::span<Item> sorted = SortDigits(from, to, high);
  if (high == differing || InsertNearby(sorted, sorted.size() * kMovesPerItem)) return sorted;
  return SortDigits(sorted, sorted.data() == from.data() ? to : from, differing);
}

}  // namespace radix

// Sorts `items` by item.key and calls emit(piece) on the pieces, which ascend. Keys that differ in their
// lowest bit alone come in one piece. `scratch` has the same length; both are overwritten. What emit leaves
// in a piece is of no further use to the sort.
template <class Item, class Emit>
void SortByPieces(std::span<Item> items, std::span<Item> scratch, const Emit& emit) {
  constexpr size_t kPiece = radix::kPieceBytes / sizeof(Item);
  if (items.empty()) return;
  const uint64_t differing = radix::DifferingBits(std::span<const Item>(items));
  if (items.size() <= kPiece || differing <= 1) {
    emit(radix::SortPiece(items, scratch, differing));
    return;
  }
  const unsigned top = static_cast<unsigned>(std::bit_width(differing)),
                 bits = std::min({radix::kMostCutBits, top - 1,
                                  static_cast<unsigned>(std::bit_width(items.size() / kPiece)) + 2}),
                 shift = top - bits;
  const size_t mask = (size_t{1} << bits) - 1;
  std::vector<uint64_t> ends(mask + 1, 0);
  for (const Item& item : items) ++ends[(item.key >> shift) & mask];
  uint64_t start = 0;
  for (uint64_t& end : ends) start += std::exchange(end, start);
  for (const Item& item : items) scratch[ends[(item.key >> shift) & mask]++] = item;
  for (size_t bucket = 0, begin = 0; bucket <= mask; ++bucket) {
    while (bucket < mask && ends[bucket + 1] - begin <= kPiece) ++bucket;
    SortByPieces(scratch.subspan(begin, ends[bucket] - begin), items.subspan(begin, ends[bucket] - begin),
                 emit);
    begin = ends[bucket];
  }
}

}  // namespace l2gcn
