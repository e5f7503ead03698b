// What a hidden layer does to its products: a bias, LayerNorm or batch norm, then ReLU and dropout; and the way back. Sums over a row are taken in vectors and added at the end, the same
// wherever the rows are cut.
#pragma once

#include "kernels/cpu/vec-inl.h"
#include "kernels/norm_constants.h"

namespace l2gcn {
namespace {

// v in the columns before `n`, 0 in the others; `column` is that of the first lane.
inline Vec Inside(Vec v, size_t column, size_t n) {
  return column + kLanes <= n ? v : FirstLanes(v, column < n ? n - column : 0, Vec{});
}

// Scramble of core/rng.h in every lane.
inline BitVec ScrambleLanes(BitVec x) {
  x = (x ^ (x >> 16)) * 0x21F0AAADu;
  x = (x ^ (x >> 15)) * 0xD35A2D97u;
  return x ^ (x >> 15);
}

void Drop(size_t m, size_t n, size_t ld, const uint32_t* keys, uint32_t threshold, float scale, float* x) {
  const BitVec lanes = (BitVec)LaneNumbers();
  for (size_t i = 0; i < m; ++i) {
    float* row = x + i * ld;
    for (size_t c = 0; c < PadWidth(n); c += kLanes) {
      const BitVec words = ScrambleLanes(lanes + (keys[i] + static_cast<uint32_t>(c)));
      const Vec kept = words < threshold ? Vec{} : Load(row + c) * scale;
      Store(row + c, Inside(kept, c, n));
    }
  }
}

void BiasRelu(size_t m, size_t n, size_t ld, const float* bias, const float* y, float* h) {
  for (size_t i = 0; i < m; ++i) {
    for (size_t c = 0; c < PadWidth(n); c += kLanes) {
      Store(h + i * ld + c, Inside(PositivePart(Load(y + i * ld + c) + Load(bias + c)), c, n));
    }
  }
}

void NormRelu(size_t m, size_t n, size_t ld, const float* gain, const float* shift, float* y, float* inverse,
              float* h) {
  const size_t width = PadWidth(n);
  const float share = 1.0f / static_cast<float>(n);
  for (size_t i = 0; i < m; ++i) {
    float* row = y + i * ld;
    Vec sum = Vec{};
    for (size_t c = 0; c < width; c += kLanes) sum += Inside(Load(row + c), c, n);
    const float mean = Sum(sum) * share;
    Vec squares = Vec{};
    for (size_t c = 0; c < width; c += kLanes) {
      const Vec off = Inside(Load(row + c) - mean, c, n);
      squares += off * off;
    }
    const float variance = Sum(squares) * share + kNormEpsilon;
    const float factor =
        1.0f / __builtin_sqrtf(variance) + variance * 0.0f;  // NaN where the squares overflow
    inverse[i] = factor;
    for (size_t c = 0; c < width; c += kLanes) {
      const Vec normalised = Inside((Load(row + c) - mean) * factor, c, n);
      Store(row + c, normalised);
      Store(h + i * ld + c, Inside(PositivePart(normalised * Load(gain + c) + Load(shift + c)), c, n));
    }
  }
}

// With t = gain ∘ d: d ← inverse · (t − mean t − y · mean(t ∘ y)).
void NormGradient(size_t m, size_t n, size_t ld, const float* gain, const float* y, const float* inverse,
                  float* d) {
  const size_t width = PadWidth(n);
  const float share = 1.0f / static_cast<float>(n);
  for (size_t i = 0; i < m; ++i) {
    float* row = d + i * ld;
    const float* normalised = y + i * ld;
    Vec sum = Vec{}, along = Vec{};
    for (size_t c = 0; c < width; c += kLanes) {
      const Vec t = Inside(Load(row + c) * Load(gain + c), c, n);
      sum += t;
      along += t * Load(normalised + c);
    }
    const float mean = Sum(sum) * share, slope = Sum(along) * share;
    for (size_t c = 0; c < width; c += kLanes) {
      const Vec t = Load(row + c) * Load(gain + c);
      Store(row + c, Inside((t - mean - Load(normalised + c) * slope) * inverse[i], c, n));
    }
  }
}

// h = ReLU(scale ∘ y + shift).
void ScaleRelu(size_t m, size_t n, size_t ld, const float* scale, const float* shift, const float* y,
               float* h) {
  for (size_t i = 0; i < m; ++i) {
    for (size_t c = 0; c < PadWidth(n); c += kLanes) {
      const Vec scaled = Load(y + i * ld + c) * Load(scale + c) + Load(shift + c);
      Store(h + i * ld + c, Inside(PositivePart(scaled), c, n));
    }
  }
}

void ColumnMoments(size_t m, size_t n, size_t ld, const float* y, float* mean, float* squares) {
  const float share = 1.0f / static_cast<float>(m);
  for (size_t c = 0; c < n; c += kLanes) {
    Vec total = Vec{}, apart = Vec{};
    for (size_t i = 0; i < m; ++i) total += Load(y + i * ld + c);
    const Vec middle = total * share;
    for (size_t i = 0; i < m; ++i) {
      const Vec off = Load(y + i * ld + c) - middle;
      apart += off * off;
    }
    Store(mean + c, middle);
    Store(squares + c, apart);
  }
}

void BatchNormRelu(size_t m, size_t n, size_t ld, const float* mean, const float* inverse, const float* gain,
                   const float* shift, float* y, float* h) {
  for (size_t i = 0; i < m; ++i) {
    for (size_t c = 0; c < PadWidth(n); c += kLanes) {
      const Vec normalised = (Load(y + i * ld + c) - Load(mean + c)) * Load(inverse + c);
      Store(y + i * ld + c, normalised);
      Store(h + i * ld + c, Inside(PositivePart(normalised * Load(gain + c) + Load(shift + c)), c, n));
    }
  }
}

void BatchNormGradient(size_t m, size_t n, size_t ld, const float* slopes, const float* y, float* d) {
  for (size_t i = 0; i < m; ++i) {
    for (size_t c = 0; c < PadWidth(n); c += kLanes) {
      const Vec along = Load(y + i * ld + c) * Load(slopes + 2 * ld + c);
      Store(d + i * ld + c, (Load(d + i * ld + c) - Load(slopes + ld + c) - along) * Load(slopes + c));
    }
  }
}

void ColumnSums(size_t m, size_t n, size_t ld, const float* d, const float* y, float* sum, float* product) {
  for (size_t c = 0; c < n; c += kLanes) {
    Vec total = Vec{}, with_y = Vec{};
    for (size_t i = 0; i < m; ++i) {
      const Vec value = Load(d + i * ld + c);
      total += value;
      if (y != nullptr) with_y += value * Load(y + i * ld + c);
    }
    Store(sum + c, total);
    if (y != nullptr) Store(product + c, with_y);
  }
}

}  // namespace
}  // namespace l2gcn
