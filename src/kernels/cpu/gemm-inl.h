// Dense products. A tile of MR rows × NV vectors of C stays in registers over the whole of k; A is broadcast
// element by element, B read in vectors. The tile heights make (MR + 1) · NV fill the register file. C's
// elements are sums over ascending k, by fused multiply–adds where the instruction set has them, whatever the
// tiling: blocking over k stores and reloads exact f32 sums. A weight gradient may be asked for by groups of
// samples: each group's sum begins with 0, and the groups are added in order.
#pragma once

#include <type_traits>

#include "kernels/cpu/finish-inl.h"

namespace l2gcn {
namespace {

// Widest tile in vectors, and rows that go with a width. Widths are multiples of 16 floats, so narrower
// vectors never need a tile one vector wide.
constexpr int kMaxVectors = kLanes == 16 ? 4 : 2;
constexpr int TileRows(int vectors) {
  if (kLanes < 16) return 6;
  return vectors == 4 ? 6 : vectors == 3 ? 8 : vectors == 2 ? 12 : 16;
}

// Rows of a weight gradient and samples of a batch taken at once: the rows' slice of A stays in the first
// level of cache while it meets every column of B.
constexpr size_t kGradRows = 48, kGradSamples = 128;
// Terms of a product taken at once: their rows of B, a tile wide, fill half of the first level.
constexpr size_t kDepth = 128;
constexpr size_t kMostAtOnce = 4;  // lines asked for every four terms

// What a tile's sums do with what C holds: they replace it, begin with it, or are added to it at the end.
enum class Before { kNothing, kContinue, kAdd };

// Rows [row, row + MR) × columns [column, column + NV·kLanes) of C, over `k` terms from A and B at the given
// places. If kTransposed, element (i, p) of A is a[p·lda + i], else a[i·lda + p].
template <int MR, int NV, bool kTransposed>
void Tile(const GemmArgs& g, size_t row, size_t column, const float* a, const float* b, size_t k,
          Before before) {
  const size_t lda = g.lda, ldb = g.ldb;
  constexpr int kGroups = (MR + 2) / 3;  // three rows of A reach through one pointer: p, p + lda, p + 2·lda
  const float* group[kGroups];
#pragma GCC unroll 16
  for (int i = 0; i < kGroups; ++i) group[i] = a + 3 * i * lda;
  Vec sum[MR][NV];
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      sum[i][v] = before == Before::kContinue ? Load(g.c + (row + i) * g.ldc + column + v * kLanes) : Vec{};
    }
  }
  PrefetchQueue queue = g.prefetch != nullptr ? *g.prefetch : PrefetchQueue{};
  const auto term = [&]() __attribute__((always_inline)) {
    Vec bv[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) bv[v] = Load(b + v * kLanes);
    b += ldb;
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i) {
      const Vec av = Splat(kTransposed ? a[i] : group[i / 3][(i % 3) * lda]);
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) sum[i][v] += av * bv[v];
    }
    if (kTransposed) {
      a += lda;
    } else {
#pragma GCC unroll 16
      for (int i = 0; i < kGroups; ++i) ++group[i];
    }
  };
  size_t p = 0;
  for (; p + 4 <= k; p += 4) {
    for (int i = 0; i < queue.at_once && queue.next != queue.end; ++i)
      __builtin_prefetch(*queue.next++, 0, 2);
    term();
    term();
    term();
    term();
  }
  for (; p < k; ++p) term();
  if (g.prefetch != nullptr) *g.prefetch = queue;
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      if (before == Before::kAdd) sum[i][v] = Load(g.c + (row + i) * g.ldc + column + v * kLanes) + sum[i][v];
      FinishAndStore(g, row + i, column + v * kLanes, sum[i][v]);
    }
  }
}

template <int MR, int NV, bool kTransposed>
inline void TileOfHeight(size_t height, const GemmArgs& g, size_t row, size_t column, const float* a,
                         const float* b, size_t k, Before before) {
  if (height == MR) return Tile<MR, NV, kTransposed>(g, row, column, a, b, k, before);
  if constexpr (MR > 1) TileOfHeight<MR - 1, NV, kTransposed>(height, g, row, column, a, b, k, before);
}

// Rows [begin, end) of one column of tiles, in tiles of nearly equal height.
template <int NV, bool kTransposed>
void TileColumn(const GemmArgs& g, size_t begin, size_t end, size_t column, size_t k_begin, size_t k_end) {
  constexpr size_t kRows = TileRows(NV);
  const Before before = k_begin == 0 ? Before::kNothing : g.group > 0 ? Before::kAdd : Before::kContinue;
  const size_t tiles = (end - begin + kRows - 1) / kRows;
  size_t row = begin;
  for (size_t tile = 1; tile <= tiles; ++tile) {
    const size_t next = begin + (end - begin) * tile / tiles;
    const float* a = kTransposed ? g.a + k_begin * g.lda + row : g.a + row * g.lda + k_begin;
    TileOfHeight<TileRows(NV), NV, kTransposed>(next - row, g, row, column, a, g.b + k_begin * g.ldb + column,
                                                k_end - k_begin, before);
    row = next;
  }
}

// visit(vectors, column) for strips of columns as wide as a tile.
template <class Visit>
void ForStrips(size_t n, const Visit& visit) {
  for (size_t column = 0; column < n;) {
    const size_t left = (n - column) / kLanes;
    const size_t vectors = left < kMaxVectors ? left : kMaxVectors;
    if constexpr (kMaxVectors == 4) {
      if (vectors == 4) visit(std::integral_constant<int, 4>(), column);
      if (vectors == 3) visit(std::integral_constant<int, 3>(), column);
      if (vectors == 1) visit(std::integral_constant<int, 1>(), column);
    }
    if (vectors == 2) visit(std::integral_constant<int, 2>(), column);
    column += vectors * kLanes;
  }
}

template <bool kTransposed>
void TileColumns(const GemmArgs& g, size_t begin, size_t end, size_t k_begin, size_t k_end) {
  ForStrips(g.n, [&](auto vectors, size_t column) {
    TileColumn<vectors, kTransposed>(g, begin, end, column, k_begin, k_end);
  });
}

// Spreads the queue over a product of m rows, n columns and k terms.
inline void Spread(size_t m, size_t n, size_t k, PrefetchQueue& queue) {
  const size_t vectors = n / kLanes, strips = (vectors + kMaxVectors - 1) / kMaxVectors;
  const size_t height = TileRows(vectors < kMaxVectors ? static_cast<int>(vectors) : kMaxVectors);
  const size_t turns = (m + height - 1) / height * strips * (k / 4) + 1;
  const auto lines = static_cast<size_t>(queue.end - queue.next), each = (lines + turns - 1) / turns;
  queue.at_once = static_cast<int>(each < 1 ? 1 : each > kMostAtOnce ? kMostAtOnce : each);
}

// Strip by strip, and a strip's depth in parts of which B's rows stay in the first level of cache for all
// tiles.
void Gemm(const GemmArgs& g) {
  GemmArgs part = g;
  part.finish = Finish::kNone;
  if (g.prefetch != nullptr) Spread(g.m, g.n, g.k, *g.prefetch);
  const size_t parts = g.k <= kDepth ? 1 : (g.k + kDepth - 1) / kDepth;
  ForStrips(g.n, [&](auto vectors, size_t column) {
    for (size_t i = 0; i < parts; ++i) {
      TileColumn<vectors, false>(i + 1 == parts ? g : part, 0, g.m, column, g.k * i / parts,
                                 g.k * (i + 1) / parts);
    }
  });
}

// Lines of rows [row, row_end) of Aᵀ for samples [p, p_end).
inline PrefetchQueue ChunkLines(const GemmArgs& g, size_t row, size_t row_end, size_t p, size_t p_end,
                                const void** lines) {
  constexpr size_t kLine = 16;  // floats
  size_t count = 0;
  for (size_t sample = p; sample < p_end && sample < p + kGradSamples; ++sample) {
    for (size_t at = row; at < row_end; at += kLine) lines[count++] = g.a + sample * g.lda + at;
  }
  return {lines, lines + count};
}

void GemmTransposed(const GemmArgs& g) {
  if (g.k == 0) return TileColumns<true>(g, 0, g.m, 0, 0);  // a sum of nothing
  const size_t at_once = g.group > 0 ? g.group : kGradSamples;
  const void* lines[kGradSamples * kGradRows / 16];
  GemmArgs chunk = g;
  PrefetchQueue queue;
  chunk.prefetch = &queue;
  for (size_t p = 0; p < g.k; p += at_once) {
    const size_t p_end = p + at_once < g.k ? p + at_once : g.k;
    for (size_t row = 0; row < g.m; row += kGradRows) {
      const size_t row_end = row + kGradRows < g.m ? row + kGradRows : g.m;
      if (row_end < g.m) {
        const size_t next_end = row_end + kGradRows < g.m ? row_end + kGradRows : g.m;
        queue = ChunkLines(g, row_end, next_end, p, p_end, lines);
      } else if (p_end < g.k) {
        const size_t next_end = p_end + at_once < g.k ? p_end + at_once : g.k;
        queue = ChunkLines(g, 0, kGradRows < g.m ? kGradRows : g.m, p_end, next_end, lines);
      } else {
        queue = g.prefetch != nullptr ? *g.prefetch : PrefetchQueue{};
      }
      Spread(row_end - row, g.n, p_end - p, queue);
      TileColumns<true>(chunk, row, row_end, p, p_end);
    }
  }
}

// Parts mostly lie in other cores' caches: the lines of the vectors to come are asked for ahead.
void AddGroups(size_t count, size_t groups, size_t stride, const float* parts, float* out) {
  constexpr size_t kLine = 16, kAhead = 6 * kLine;
  for (size_t i = 0; i < count; i += kLine) {
    Vec sum[kLine / kLanes];
    for (size_t v = 0; v < kLine / kLanes; ++v) sum[v] = Load(parts + i + v * kLanes);
    if (i + kAhead < count) __builtin_prefetch(parts + i + kAhead);
    for (size_t group = 1; group < groups; ++group) {
      const float* part = parts + group * stride + i;
      if (i + kAhead < count) __builtin_prefetch(part + kAhead);
      for (size_t v = 0; v < kLine / kLanes; ++v) sum[v] += Load(part + v * kLanes);
    }
    for (size_t v = 0; v < kLine / kLanes; ++v) Store(out + i + v * kLanes, sum[v]);
  }
}

}  // namespace
}  // namespace l2gcn
