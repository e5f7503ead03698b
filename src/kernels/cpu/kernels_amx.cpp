// Dense products in bf16 on the tile registers of AMX: operands are rounded to bf16 (nearest even), products are exact,
// sums are f32. Everything else is the AVX-512 level's.
//
// A tile holds 16 rows of 64 bytes. An instruction adds A (16 rows × 32 terms) · B (32 terms × 16 columns) to 16 × 16
// sums; of B, two terms of a column lie side by side. Operands come as f32 and are packed into tiles as they are needed:
// rounding costs less than the f32 arithmetic that it saves, and callers need not know.
//
// An element's sum takes its terms in ascending order, 32 at an instruction and the last ones filled up with zeros, so
// its bits do not depend on how rows are cut. Where sums are asked for by groups, each begins with 0, and the groups are
// added in order, as in gemm-inl.h.
#include <immintrin.h>

#include <new>

#define L2GCN_LANES 16
#include "kernels/cpu/finish-inl.h"

namespace l2gcn {
namespace {

constexpr size_t kSide = 16;                    // rows of a tile, and columns of sums
constexpr size_t kTerms = kPackedTerms;         // of a product that one instruction adds
constexpr size_t kBlockSide = 2 * kSide;        // of the block of C that is computed at once: 2 × 2 tiles
constexpr size_t kTileValues = kSide * kTerms;  // bf16 values of a packed tile, 1 KiB
constexpr size_t kLinesAhead = 256;  // of A that are fetched while a block of a gradient is computed
constexpr size_t kRowsAtOnce = 128;  // rows of A that are packed before they meet B

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// The tile registers of this thread, configured for as long as this lives.
class Tiles {
 public:
  Tiles() {
    const TileConfig config;
    _tile_loadconfig(&config);
  }
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

// Memory for `tiles` packed tiles. Tile t begins at element t · kTileValues.
class PackedTiles {
 public:
  explicit PackedTiles(size_t tiles)
      : values_(static_cast<uint16_t*>(::operator new(tiles* kTileValues * sizeof(uint16_t), kAligned))) {}
  ~PackedTiles() { ::operator delete(values_, kAligned); }
  PackedTiles(const PackedTiles&) = delete;
  PackedTiles& operator=(const PackedTiles&) = delete;
  uint16_t* tile(size_t t) { return values_ + t * kTileValues; }

 private:
  static constexpr std::align_val_t kAligned{64};
  uint16_t* const values_;
};

inline size_t StepsOf(size_t terms) { return (terms + kTerms - 1) / kTerms; }
inline size_t TilesOf(size_t width) { return (width + kSide - 1) / kSide; }
inline __mmask16 FirstOf16(size_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xFFFFu : (1u << count) - 1);
}

// The compiler's tile intrinsics do not say that they read memory: what has been packed is stored before they run.
inline void PackingIsDone() { asm volatile("" ::: "memory"); }

// 32 terms of a row of A, from `from` on, of which `count` exist.
inline void PackRow(const float* from, size_t count, uint16_t* to) {
  const __m512 low = _mm512_maskz_loadu_ps(FirstOf16(count), from);
  const __m512 high = _mm512_maskz_loadu_ps(FirstOf16(count > 16 ? count - 16 : 0), from + 16);
  _mm512_store_si512(to, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

// Rows [row, row + kSide) of A, all steps of its terms: tile s holds terms 32·s and on.
void PackRows(const GemmArgs& g, size_t row, PackedTiles& packed, size_t first) {
  for (size_t i = 0; i < kSide; ++i) {
    for (size_t s = 0; s < StepsOf(g.k); ++s) {
      uint16_t* to = packed.tile(first + s) + i * kTerms;
      if (row + i < g.m) {
        PackRow(g.a + (row + i) * g.lda + s * kTerms, g.k - s * kTerms, to);
      } else {
        _mm512_store_si512(to, _mm512_setzero_si512());
      }
    }
  }
}

// The order that sets the first and the second 16 of 32 numbers side by side.
inline __m512i SideBySide() {
  alignas(64) uint16_t order[kTerms];
  for (size_t i = 0; i < kSide; ++i) {
    order[2 * i] = static_cast<uint16_t>(i);
    order[2 * i + 1] = static_cast<uint16_t>(i + kSide);
  }
  return _mm512_load_si512(order);
}

// Two terms of 16 columns, side by side: (low₀, high₀, low₁, high₁, …).
inline __m512i PairOfTerms(__m512 low, __m512 high, __m512i side_by_side) {
  return _mm512_permutexvar_epi16(side_by_side, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

// visit(pair, terms) for the 16 pairs of up to 32 rows from `at` on, of which `rows` exist; others are zeros.
template <class Visit>
inline void ForPairs(const float* at, size_t stride, size_t rows, __mmask16 columns, const Visit& visit) {
  const __m512i order = SideBySide();
  const size_t whole = rows >= kTerms ? kSide : rows / 2;
  for (size_t pair = 0; pair < whole; ++pair, at += 2 * stride) {
    visit(pair, PairOfTerms(_mm512_maskz_loadu_ps(columns, at), _mm512_maskz_loadu_ps(columns, at + stride),
                            order));
  }
  const __m512 zero = _mm512_setzero_ps();
  for (size_t pair = whole; pair < kSide; ++pair) {
    const bool half = 2 * pair < rows;
    visit(pair, half ? PairOfTerms(_mm512_maskz_loadu_ps(columns, at), zero, order) : _mm512_setzero_si512());
  }
}

// 16 columns of B from `column` on, terms [begin, end).
void PackColumns(const GemmArgs& g, size_t column, size_t begin, size_t end, PackedTiles& packed,
                 size_t first) {
  for (size_t s = 0; s < StepsOf(end - begin); ++s) {
    uint16_t* to = packed.tile(first + s);
    const size_t term = begin + s * kTerms;
    ForPairs(g.b + term * g.ldb + column, g.ldb, end - term, FirstOf16(kSide),
             [&](size_t pair, __m512i terms) { _mm512_store_si512(to + pair * kTerms, terms); });
  }
}

// One term of B's columns, in its half of a pair: what PackColumns would write there.
void PackHalf(const float* row, size_t n, size_t steps, size_t term, uint16_t* packed) {
  const size_t step = term / kTerms, in_tile = term % kTerms / 2 * kTerms + term % 2;
  for (size_t column = 0; column < n; ++column) {
    uint16_t* tile = packed + (column / kSide * steps + step) * kTileValues;
    Storage<FeatureType::kBf16>::WriteOne(tile + in_tile + column % kSide * 2, row[column]);
  }
}

// Terms [begin, end) of B, at their places among the tiles of all terms. Who packs other terms may do so at the same
// time: a term whose partner is not among these is written by itself.
void AmxPack(const float* b, size_t ldb, size_t k, size_t n, size_t begin, size_t end, uint16_t* packed) {
  const size_t steps = StepsOf(k);
  const __m512i order = SideBySide();
  if (begin % 2 == 1 && begin < end) PackHalf(b + begin * ldb, n, steps, begin, packed), ++begin;
  if (end % 2 == 1 && begin < end) --end, PackHalf(b + end * ldb, n, steps, end, packed);
  for (size_t term = begin; term < end; term += 2) {
    const float* low = b + term * ldb;
    uint16_t* to = packed + term / kTerms * kTileValues + term % kTerms / 2 * kTerms;
    for (size_t column = 0; column < n; column += kSide, to += steps * kTileValues) {
      _mm512_storeu_si512(
          to, PairOfTerms(_mm512_loadu_ps(low + column), _mm512_loadu_ps(low + ldb + column), order));
    }
  }
}
size_t AmxPackedValues(size_t k, size_t n) { return TilesOf(n) * StepsOf(k) * kTileValues; }

// Rows of 16 numbers become columns: pairs, fours, then quarters of vectors change places.
inline void Transpose16(__m512i (&v)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 16; i += 8) {
    for (int j = 0; j < 4; ++j) {
      t[i + j] = _mm512_shuffle_i32x4(v[i + j], v[i + 4 + j], 0x88);
      t[i + 4 + j] = _mm512_shuffle_i32x4(v[i + j], v[i + 4 + j], 0xDD);
    }
  }
  for (int j = 0; j < 8; ++j) {
    v[j] = _mm512_shuffle_i32x4(t[j], t[8 + j], 0x88);
    v[8 + j] = _mm512_shuffle_i32x4(t[j], t[8 + j], 0xDD);
  }
}

// Rows [row, row + kSide) of Aᵀ, terms [begin, end): columns of A.
void PackTransposedRows(const GemmArgs& g, size_t row, size_t begin, size_t end, PackedTiles& packed,
                        size_t first) {
  const __mmask16 columns = FirstOf16(g.m > row ? g.m - row : 0);
  for (size_t s = 0; s < StepsOf(end - begin); ++s) {
    __m512i pairs[kSide];
    const size_t term = begin + s * kTerms;
    ForPairs(g.a + term * g.lda + row, g.lda, end - term, columns,
             [&](size_t pair, __m512i terms) { pairs[pair] = terms; });
    Transpose16(pairs);
    uint16_t* to = packed.tile(first + s);
    for (size_t i = 0; i < kSide; ++i) _mm512_store_si512(to + i * kTerms, pairs[i]);
  }
}

// Packed tiles of one or two tiles of columns of B; the second one's begin `distance` tiles after the first one's.
struct PackedStrip {
  const uint16_t* first;
  size_t distance;
};
// The part of the caller's packed B from `column` and, after g.packed_begin, from term `term` on.
inline PackedStrip StripOf(const GemmArgs& g, size_t column, size_t term) {
  const size_t steps = StepsOf(g.packed_k), step = (g.packed_begin + term) / kTerms;
  return {g.packed_b + (column / kSide * steps + step) * kTileValues, steps};
}

// sums (kBlockSide × kBlockSide) = A · B over `steps` packed tiles of one or two tiles of rows and of columns. A second
// tile of rows or columns follows the first one's steps.
template <bool kTwoRows, bool kTwoColumns>
void MultiplyTiles(const uint16_t* a, PackedStrip strip, size_t steps, PrefetchQueue& queue, float* sums) {
  constexpr int kStride = kTerms * sizeof(uint16_t), kOut = kBlockSide * sizeof(float);
  _tile_zero(0);
  if (kTwoColumns) _tile_zero(1);
  if (kTwoRows) _tile_zero(2);
  if (kTwoRows && kTwoColumns) _tile_zero(3);
  const uint16_t* b = strip.first;
  const size_t second = steps * kTileValues, second_of_b = strip.distance * kTileValues;
  for (size_t s = 0; s < steps; ++s, a += kTileValues, b += kTileValues) {
    for (int i = 0; i < queue.at_once && queue.next != queue.end; ++i)
      __builtin_prefetch(*queue.next++, 0, 2);
    _tile_loadd(4, a, kStride);
    _tile_loadd(6, b, kStride);
    _tile_dpbf16ps(0, 4, 6);
    if (kTwoColumns) {
      _tile_loadd(7, b + second_of_b, kStride);
      _tile_dpbf16ps(1, 4, 7);
    }
    if (kTwoRows) {
      _tile_loadd(5, a + second, kStride);
      _tile_dpbf16ps(2, 5, 6);
    }
    if (kTwoRows && kTwoColumns) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums, kOut);
  if (kTwoColumns) _tile_stored(1, sums + kSide, kOut);
  if (kTwoRows) _tile_stored(2, sums + kSide * kBlockSide, kOut);
  if (kTwoRows && kTwoColumns) _tile_stored(3, sums + kSide * kBlockSide + kSide, kOut);
}

// The block of C at (row, column), of `steps` packed tiles; with `add`, added to what is there.
void MultiplyBlockOfTiles(const GemmArgs& g, size_t row, size_t column, const uint16_t* a, PackedStrip b,
                          size_t steps, PrefetchQueue& queue, bool add) {
  alignas(64) float sums[kBlockSide * kBlockSide];
  const bool two_rows = g.m - row > kSide, two_columns = g.n - column > kSide;
  if (two_rows && two_columns) MultiplyTiles<true, true>(a, b, steps, queue, sums);
  if (two_rows && !two_columns) MultiplyTiles<true, false>(a, b, steps, queue, sums);
  if (!two_rows && two_columns) MultiplyTiles<false, true>(a, b, steps, queue, sums);
  if (!two_rows && !two_columns) MultiplyTiles<false, false>(a, b, steps, queue, sums);
  const size_t rows = g.m - row < kBlockSide ? g.m - row : kBlockSide;
  for (size_t i = 0; i < rows; ++i) {
    for (size_t c = 0; c < (two_columns ? kBlockSide : kSide); c += kLanes) {
      Vec value = Load(sums + i * kBlockSide + c);
      if (add) value = Load(g.c + (row + i) * g.ldc + column + c) + value;
      FinishAndStore(g, row + i, column + c, value);
    }
  }
}

// Lines that are fetched at each of `turns` turns.
inline int AtOnce(const PrefetchQueue& queue, size_t turns) {
  return static_cast<int>(static_cast<size_t>(queue.end - queue.next) / (turns + 1) + 1);
}

void AmxGemm(const GemmArgs& g) {
  const Tiles tiles;
  const size_t steps = StepsOf(g.k), strips = (g.n + kBlockSide - 1) / kBlockSide;
  const size_t at_once = g.m < kRowsAtOnce ? g.m : kRowsAtOnce;
  PackedTiles a(TilesOf(at_once) * steps), b(g.packed_b == nullptr ? 2 * steps : 0);
  PrefetchQueue queue = g.prefetch != nullptr ? *g.prefetch : PrefetchQueue{};
  queue.at_once = AtOnce(queue, (g.m + kBlockSide - 1) / kBlockSide * strips * steps);
  for (size_t begin = 0; begin < g.m; begin += kRowsAtOnce) {
    const size_t end = begin + kRowsAtOnce < g.m ? begin + kRowsAtOnce : g.m;
    for (size_t t = 0; t < TilesOf(end - begin); ++t) PackRows(g, begin + t * kSide, a, t * steps);
    for (size_t column = 0; column < g.n; column += kBlockSide) {
      PackedStrip strip{b.tile(0), steps};
      if (g.packed_b != nullptr) {
        strip = StripOf(g, column, 0);
      } else {
        for (size_t t = 0; t < 2 && column + t * kSide < g.n; ++t)
          PackColumns(g, column + t * kSide, 0, g.k, b, t * steps);
      }
      PackingIsDone();
      for (size_t row = begin; row < end; row += kBlockSide) {
        MultiplyBlockOfTiles(g, row, column, a.tile((row - begin) / kSide * steps), strip, steps, queue,
                             false);
      }
    }
  }
  if (g.prefetch != nullptr) *g.prefetch = queue;
}

// Lines of the columns [row, row + kBlockSide) of A, terms [begin, end), as far as `lines` has room.
inline PrefetchQueue LinesOfColumns(const GemmArgs& g, size_t row, size_t begin, size_t end,
                                    const void* (&lines)[kLinesAhead]) {
  size_t count = 0;
  for (size_t term = begin; term < end && count + 2 <= kLinesAhead; ++term) {
    lines[count++] = g.a + term * g.lda + row;
    if (row + kSide < g.m) lines[count++] = g.a + term * g.lda + row + kSide;
  }
  return {lines, lines + count};
}

// While a block of C is computed, the lines that the next one packs are fetched; the caller's, while the last one is.
void AmxGemmTransposed(const GemmArgs& g) {
  const Tiles tiles;
  const size_t group = g.group > 0 && g.group < g.k ? g.group : g.k, most = StepsOf(group);
  PackedTiles a(2 * most), b(g.packed_b == nullptr ? TilesOf(g.n) * most : 0);
  const size_t groups = g.k == 0 ? 1 : (g.k + group - 1) / group,
               strips = (g.n + kBlockSide - 1) / kBlockSide;
  const void* lines[kLinesAhead];
  for (size_t number = 0; number < groups; ++number) {
    const size_t begin = number * group, end = begin + group < g.k ? begin + group : g.k;
    const size_t steps = StepsOf(end - begin);
    for (size_t t = 0; g.packed_b == nullptr && t < TilesOf(g.n); ++t)
      PackColumns(g, t * kSide, begin, end, b, t * steps);
    for (size_t row = 0; row < g.m; row += kBlockSide) {
      for (size_t t = 0; t < 2 && row + t * kSide < g.m; ++t)
        PackTransposedRows(g, row + t * kSide, begin, end, a, t * steps);
      PackingIsDone();
      PrefetchQueue queue;
      if (row + kBlockSide < g.m) {
        queue = LinesOfColumns(g, row + kBlockSide, begin, end, lines);
      } else if (end < g.k) {
        queue = LinesOfColumns(g, 0, end, end + group < g.k ? end + group : g.k, lines);
      } else if (g.prefetch != nullptr) {
        queue = *g.prefetch;
      }
      queue.at_once = AtOnce(queue, strips * steps);
      for (size_t column = 0; column < g.n; column += kBlockSide) {
        const PackedStrip strip = g.packed_b != nullptr ? StripOf(g, column, begin)
                                                        : PackedStrip{b.tile(column / kSide * steps), steps};
        MultiplyBlockOfTiles(g, row, column, a.tile(0), strip, steps, queue, number > 0);
      }
    }
  }
}

// A constant: no code of this file may run before the processor is known to have its instructions.
constexpr CpuKernels MakeProducts() {
  CpuKernels products{};
  products.name = "avx512 with products in bf16 on AMX";
  products.gemm = AmxGemm;
  products.gemm_transposed = AmxGemmTransposed;
  products.packed_values = AmxPackedValues;
  products.pack = AmxPack;
  return products;
}

}  // namespace

extern const CpuKernels kAmxProducts;
const CpuKernels kAmxProducts = MakeProducts();

}  // namespace l2gcn
