// The order in which an epoch takes its samples, as a function of the position: no table is kept.
//
// Where the samples' rows are few bytes, the order is one keyed Permutation of all samples. Where they are many, it
// has two levels, so that whoever reads the rows from a file meets them in long runs: neighbouring samples form
// blocks, the blocks are shuffled, a window takes a fixed number of blocks in that order, and the samples of a window
// are shuffled among themselves. Samples beyond the last whole block belong to the last window.
//
// Guarantees: always a bijection. Which of the two it is depends on the number of samples and columns alone, never on
// threads or budget, so neither do the weights that come of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/rng.h"

namespace l2gcn {

constexpr uint64_t kShuffledWholeBytes = uint64_t{64} << 20;  // rows (as f32) below this are shuffled as one
constexpr uint64_t kSampleBlockBytes = uint64_t{16} << 10;
constexpr uint32_t kWindowBlocks = 512;
constexpr uint32_t kRingWindows = 3;  // that whoever reads the rows by windows holds at a time

// Feistel permutations of three sizes share the keys of one epoch; a window mixes its number into them.
struct EpochOrder : Permutation {
  uint32_t block = 0;   // samples that stay together; 0: one shuffle of all
  uint32_t window = 0;  // samples of a window, a multiple of `block`
  Permutation blocks;   // over the whole blocks

  EpochOrder() = default;
  // `columns` is the width of a sample's row, if it is dense; 0 for rows that are sparse, which are always in memory
  // and shuffled as one. A batch never reaches over more than two windows.
  EpochOrder(uint32_t samples, size_t columns, uint32_t batch, const RandomStream& stream)
      : Permutation(samples, stream) {
    const uint64_t row_bytes = uint64_t{columns} * sizeof(float);
    if (uint64_t{samples} * row_bytes < kShuffledWholeBytes) return;
    block = row_bytes < kSampleBlockBytes ? static_cast<uint32_t>(kSampleBlockBytes / row_bytes) : 1;
    const uint32_t needed = batch / block + 1;
    window = (needed < kWindowBlocks ? kWindowBlocks : needed) * block;
    blocks = Permutation(samples / block, stream);
  }

  // The sample at position `index`.
  L2GCN_ALWAYS_INLINE uint32_t operator()(uint32_t index) const {
    if (block == 0) return Permutation::operator()(index);
    const uint32_t number = index / window;
    const uint32_t at = number * window + Within(number)(index - number * window);
    return at / block < blocks.size ? blocks(at / block) * block + at % block : at;
  }

  // What follows is for orders of windows alone.
  // How window `number` shuffles its samples.
  L2GCN_ALWAYS_INLINE Permutation Within(uint32_t number) const {
    Permutation within;
    within.size = SizeOf(number);
    const uint32_t bits = within.size > 4 ? 32 - static_cast<uint32_t>(__builtin_clz(within.size - 1)) : 2;
    within.half_bits = (bits + 1) / 2;
    within.mask = (uint32_t{1} << within.half_bits) - 1;
    for (int round = 0; round < kRounds; ++round)
      within.keys[round] = keys[round] ^ Scramble(number * kRounds + static_cast<uint32_t>(round) + 1);
    return within;
  }
  uint32_t windows() const { return (size + window - 1) / window; }
  uint32_t SizeOf(uint32_t number) const {
    return size - number * window < window ? size - number * window : window;
  }
  // Windows are brought to a ring of kRingWindows, block by block in the shuffled order of blocks. Here, where the
  // sample at position `index` lies in it, in an epoch whose first window is the `first`-th of all.
  uint32_t RingRow(uint32_t index, uint64_t first) const {
    const uint32_t number = index / window;
    return static_cast<uint32_t>((first + number) % kRingWindows) * window +
           Within(number)(index - number * window);
  }
  // Samples that lie side by side: `count` of them from `sample` on belong to rows row, row + 1, … of a window.
  struct Run {
    uint32_t row, sample, count;
  };
  // The run that begins with row `row` of window `number`; rows of a window end at SizeOf(number).
  Run RunAt(uint32_t number, uint32_t row) const {
    const uint32_t at = number * window + row;
    if (at / block < blocks.size) return {row, blocks(at / block) * block, block};
    return {row, at, size - at};
  }
};

}  // namespace l2gcn
