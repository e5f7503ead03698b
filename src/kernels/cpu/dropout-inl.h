// Dropout by the 16-bit words of a Philox stream (core/rng.h), whose blocks are computed several at once.
#pragma once

#include "kernels/cpu/vec-inl.h"

namespace l2gcn {
namespace {

typedef uint64_t WideVec __attribute__((vector_size(kLanes * sizeof(uint32_t)), aligned(4), may_alias));

// The upper halves of the products with m.
inline BitVec UpperProduct(BitVec x, uint64_t m) {
  const WideVec even = ((WideVec)x & 0xFFFFFFFFu) * m, odd = ((WideVec)x >> 32) * m;
  return (BitVec)((even >> 32) | (odd & 0xFFFFFFFF00000000u));
}

// Blocks first … first + kLanes − 1 of the stream: word w of block i becomes words[4 i + w].
inline void PhiloxBlocks(uint64_t key, uint64_t name, uint64_t first, uint32_t* words) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  BitVec c0, c1;
  for (size_t i = 0; i < kLanes; ++i) {
    c0[i] = (uint32_t)(first + i);
    c1[i] = (uint32_t)((first + i) >> 32);
  }
  BitVec c2 = BitVec{} + (uint32_t)name, c3 = BitVec{} + (uint32_t)(name >> 32);
  for (int round = 0; round < 10; ++round) {
    const BitVec upper0 = UpperProduct(c0, 0xD2511F53u), upper1 = UpperProduct(c2, 0xCD9E8D57u);
    const BitVec lower0 = c0 * 0xD2511F53u, lower1 = c2 * 0xCD9E8D57u;
    c0 = upper1 ^ c1 ^ k0;
    c1 = lower1;
    c2 = upper0 ^ c3 ^ k1;
    c3 = lower0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (size_t i = 0; i < kLanes; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

void Dropout(size_t begin, size_t end, uint64_t key, uint64_t name, uint32_t threshold, float scale,
             float* x) {
  alignas(64) uint32_t words[4 * kLanes];
  constexpr size_t kAtOnce = 8 * kLanes;  // values that the blocks decide on
  for (size_t i = begin; i < end; i += kAtOnce) {
    PhiloxBlocks(key, name, i / 8, words);
    const size_t count = end - i < kAtOnce ? end - i : kAtOnce;
    for (size_t j = 0; j < count; j += kLanes) {
      const BitVec word = Widen((const uint16_t*)words + j);
      Store(x + i + j, word >= threshold ? Load(x + i + j) * scale : Vec{});
    }
  }
}

}  // namespace
}  // namespace l2gcn
