// The generator's random laws. All are integer or correctly rounded operations on Philox words, so that a
// seed gives the same data set on every machine, which a maths library's logarithms and cosines do not
// promise.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/rng.h"

namespace l2gcn {

// What the numbers of one seed are drawn for; names the streams of RandomUse::kGenerator.
enum class GeneratorUse : uint32_t {
  kOrder = 1,
  kShift = 2,
  kCell = 3,
  kSplit = 4,
  kLabel = 5,
  kLabelSets = 6,
  kMeans = 7,
  kNoise = 8,
  kVocabulary = 9,
  kWords = 10,
  kRelations = 11,
  kRelationEdges = 12,
  kRelationNoise = 13,
  kTargets = 14,
};

inline RandomStream GeneratorStream(uint64_t seed, GeneratorUse use, uint32_t index = 0) {
  return RandomStream(seed, RandomUse::kGenerator, static_cast<uint32_t>(use), index);
}

// ⌊a · b / c⌋ without overflow on the way; the quotient must fit.
inline uint64_t MultiplyDivide(uint64_t a, uint64_t b, uint64_t c) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(a) * b / c);
}

// 0 … 1, as the ranks below take it.
inline double UnitOf(uint32_t word) { return word * 0x1p-32; }

// Rank 0 … count−1, its probability falling as rank^(−0.6). Degrees drawn so follow a power law of
// exponent 2.67; words drawn so have about the document frequencies of the real word sets.
inline uint32_t PowerRank(double uniform, uint32_t count) {
  return std::min(static_cast<uint32_t>(uniform * uniform * std::sqrt(uniform) * count), count - 1);
}
constexpr double kPowerRankExponent = 0.4;  // P(rank < r) = (r / count)^0.4

// Normal-like with mean 0 and deviation 1: the centred sum of the word's four bytes, bell-shaped within
// ±3.45.
inline float BellNoise(uint32_t word) {
  constexpr float kScale = 1.0f / 147.80053f;  // √(4 · (256² − 1) / 12)
  const uint32_t pairs = (word & 0x00FF00FFu) + ((word >> 8) & 0x00FF00FFu);
  const auto sum = static_cast<int32_t>((pairs & 0xFFFFu) + (pairs >> 16));
  return static_cast<float>(sum - 510) * kScale;
}

}  // namespace l2gcn
