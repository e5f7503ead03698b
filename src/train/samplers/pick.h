// Drawing k of n without replacement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/rng.h"

namespace l2gcn {

// Ascending distinct numbers below n, every set of min(k, n) of them equally likely: Floyd's method (CACM
// 1987) for few, a pass over all n (Knuth's algorithm S) for many. `place` names the draw within the stream.
inline void PickDistinct(uint32_t n, uint32_t k, const RandomStream& stream, uint64_t place,
                         std::vector<uint32_t>& picked) {
  constexpr uint32_t kFew = 64;  // Floyd's lookup is a linear search
  const auto below = [&](uint32_t draw, uint64_t bound) { return stream.Below((place << 32) | draw, bound); };
  picked.clear();
  if (k >= n || k > kFew) {
    for (uint32_t i = 0; i < n && picked.size() < k; ++i) {
      if (k >= n || below(i, n - i) < k - picked.size()) picked.push_back(i);
    }
    return;
  }
  for (uint32_t i = n - k; i < n; ++i) {
    const auto drawn = static_cast<uint32_t>(below(i - (n - k), uint64_t{i} + 1));
    const bool taken = std::find(picked.begin(), picked.end(), drawn) != picked.end();
    picked.push_back(taken ? i : drawn);
  }
  std::sort(picked.begin(), picked.end());
}

}  // namespace l2gcn
