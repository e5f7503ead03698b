// Counter-based random numbers: a value is a pure function of (key, counter), so any thread, device or
// resumed run draws the same ones, in any order.
//
//   Philox4x32-10 (Salmon et al., SC'11): 128-bit counter, 64-bit key → four 32-bit words.
//   Permutation: a keyed bijection of 0 … n−1 evaluated index by index, without a table (a Feistel network
//   over the smallest even number of bits that holds n, cycle-walked back into range). It is the epoch
//   shuffle on every device.
//
// The header is plain C++ usable from CUDA: L2GCN_HOST_DEVICE marks both sides.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define L2GCN_HOST_DEVICE __host__ __device__
#define L2GCN_ALWAYS_INLINE __attribute__((always_inline))
#else
#define L2GCN_HOST_DEVICE
#define L2GCN_ALWAYS_INLINE __attribute__((always_inline))
#endif

namespace l2gcn {

// What a stream of numbers is for; keeps streams of one seed apart.
enum class RandomUse : uint32_t {
  kInitW = 1,
  kInitTheta = 2,
  kShuffle = 3,
  kDropout = 4,
  kSplit = 5,
  kGenerator = 6,
  kSampler = 7,
  kController = 8,
  kPca = 9,
  kInputDropout = 10,
  kHeadDropout = 11,
  kInitHead = 12,
};

struct Philox4 {
  uint32_t v[4];
};

L2GCN_HOST_DEVICE inline Philox4 PhiloxBlock(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint32_t c0 = static_cast<uint32_t>(counter_low), c1 = static_cast<uint32_t>(counter_low >> 32);
  uint32_t c2 = static_cast<uint32_t>(counter_high), c3 = static_cast<uint32_t>(counter_high >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(0xD2511F53u) * c0;
    const uint64_t p1 = static_cast<uint64_t>(0xCD9E8D57u) * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Uniform in [0, 1) with 24 bits; uniform in (0, 1] for logarithms.
L2GCN_HOST_DEVICE inline float UniformFloat(uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}
L2GCN_HOST_DEVICE inline float UniformOpenFloat(uint32_t bits) {
  return (static_cast<float>(bits >> 8) + 1.0f) * 0x1p-24f;
}

// One stream: the high half of the counter names it (use, a, b), the low half counts within it.
struct RandomStream {
  uint64_t seed;
  uint64_t name;

  L2GCN_HOST_DEVICE RandomStream(uint64_t s, RandomUse use, uint32_t a = 0, uint32_t b = 0)
      : seed(s),
        name((static_cast<uint64_t>(use) << 56) ^ (static_cast<uint64_t>(a & 0xFFFFFFu) << 32) ^ b) {}
  L2GCN_HOST_DEVICE Philox4 Block(uint64_t index) const { return PhiloxBlock(seed, index, name); }
  // The index-th 32-bit word of the stream.
  L2GCN_HOST_DEVICE uint32_t Word(uint64_t index) const { return Block(index >> 2).v[index & 3]; }
  L2GCN_HOST_DEVICE float Uniform(uint64_t index) const { return UniformFloat(Word(index)); }
  uint64_t Word64(uint64_t index) const {
    const Philox4 block = Block(index >> 1);
    const int half = static_cast<int>(index & 1) * 2;
    return (static_cast<uint64_t>(block.v[half]) << 32) | block.v[half + 1];
  }
  // Uniform in 0 … bound−1, bias below 2⁻³².
  uint64_t Below(uint64_t index, uint64_t bound) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>((static_cast<Wide>(Word64(index)) * bound) >> 64);
  }
  // Standard normal (Box–Muller), the index-th of the stream.
  float Normal(uint64_t index) const {
    const Philox4 block = Block(index >> 1);
    const int half = static_cast<int>(index & 1) * 2;
    const float radius = std::sqrt(-2.0f * std::log(UniformOpenFloat(block.v[half])));
    return radius * std::cos(6.28318530717958647692f * UniformFloat(block.v[half + 1]));
  }
};

// A 32-bit hash in which every bit of the input reaches every bit of the result. Always inlined, for the reason
// given at Permutation::Once.
L2GCN_HOST_DEVICE L2GCN_ALWAYS_INLINE inline uint32_t Scramble(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x21F0AAADu;
  x = (x ^ (x >> 15)) * 0xD35A2D97u;
  return x ^ (x >> 15);
}
// Whether column `column` of a row is dropped by a layer of a given form: the row's key is a Philox word, the
// columns under it are hashed, which is several times cheaper and does not depend on how the row is stored.
L2GCN_HOST_DEVICE L2GCN_ALWAYS_INLINE inline bool DropsColumn(uint32_t key, uint32_t column,
                                                              uint32_t threshold) {
  return Scramble(key + column) < threshold;
}
// The threshold for a share p of [0, 1).
L2GCN_HOST_DEVICE inline uint32_t DropThreshold(float p) {
  return static_cast<uint32_t>(static_cast<double>(p) * 4294967296.0);
}

// Keyed bijection of 0 … n−1. Six Feistel rounds over 2·half_bits bits; the round function is a 32-bit
// multiply–xorshift hash, whose keys are Philox words.
struct Permutation {
  static constexpr int kRounds = 6;
  uint32_t size = 0;
  uint32_t half_bits = 0;
  uint32_t mask = 0;
  uint32_t keys[kRounds] = {};

  Permutation() = default;
  L2GCN_HOST_DEVICE Permutation(uint32_t n, const RandomStream& stream) : size(n) {
    uint32_t bits = 2;
    while (bits < 32 && (uint64_t{1} << bits) < n) ++bits;
    half_bits = (bits + 1) / 2;
    mask = (uint32_t{1} << half_bits) - 1;
    for (int round = 0; round < kRounds; ++round) keys[round] = stream.Word(static_cast<uint64_t>(round));
  }

  // Always inlined: the CPU kernels evaluate it in code compiled for several instruction sets, and no copy of
  // one may be linked into another.
  L2GCN_HOST_DEVICE L2GCN_ALWAYS_INLINE uint32_t Once(uint32_t index) const {
    uint32_t left = index >> half_bits, right = index & mask;
    for (int round = 0; round < kRounds; ++round) {
      uint32_t hash = (right ^ keys[round]) * 0x9E3779B1u;
      hash = (hash ^ (hash >> 15)) * 0x85EBCA77u;
      hash ^= hash >> 13;
      const uint32_t next = left ^ (hash & mask);
      left = right;
      right = next;
    }
    return (left << half_bits) | right;
  }
  // Where position `index` of the shuffled order points.
  L2GCN_HOST_DEVICE L2GCN_ALWAYS_INLINE uint32_t operator()(uint32_t index) const {
    uint32_t value = Once(index);
    while (value >= size) value = Once(value);
    return value;
  }
};

}  // namespace l2gcn
