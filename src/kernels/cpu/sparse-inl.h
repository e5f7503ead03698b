// Products with sparse rows, touching only their non-zeros.
#pragma once

#include "kernels/cpu/vec-inl.h"

namespace l2gcn {
namespace {

// Columns [column, column + NV·kLanes) of one row of X·B. kChains sums run side by side, because one sum
// alone would wait for each addition; they are joined in a fixed order.
template <int NV, int kChains>
inline void SparseRowProduct(const SparseRows& x, uint64_t begin, uint64_t end, const float* b, size_t ldb,
                             float* c, bool relu) {
  Vec sum[kChains][NV];
#pragma GCC unroll 8
  for (int s = 0; s < kChains; ++s) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) sum[s][v] = Vec{};
  }
  uint64_t e = begin;
  for (; e + kChains <= end; e += kChains) {
#pragma GCC unroll 8
    for (int s = 0; s < kChains; ++s) {
      const float* row = b + x.indices[e + s] * ldb;
      const Vec value = Splat(x.values[e + s]);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) sum[s][v] += value * Load(row + v * kLanes);
    }
  }
  for (; e < end; ++e) {
    const float* row = b + x.indices[e] * ldb;
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) sum[0][v] += Splat(x.values[e]) * Load(row + v * kLanes);
  }
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) {
#pragma GCC unroll 8
    for (int s = 1; s < kChains; ++s) sum[0][v] += sum[s][v];
    Store(c + v * kLanes, relu ? PositivePart(sum[0][v]) : sum[0][v]);
  }
}

// The row that will be computed kAhead rows later.
inline void PrefetchSparseRow(const SparseRows& x, size_t m, size_t i) {
  constexpr size_t kAhead = 4, kLine = 16;  // elements of 4 bytes
  if (i + kAhead >= m + x.ahead) return;
  const uint32_t row = x.rows[i + kAhead];
  const uint64_t end = x.indptr[row + 1];
  for (uint64_t e = x.indptr[row]; e < end; e += kLine) {
    __builtin_prefetch(x.indices + e, 0, 2);
    __builtin_prefetch(x.values + e, 0, 2);
  }
}

void SparseGemm(size_t m, size_t n, const SparseRows& x, const float* b, size_t ldb, float* c, size_t ldc,
                bool relu) {
  for (size_t i = 0; i < m; ++i) {
    PrefetchSparseRow(x, m, i);
    const uint64_t begin = x.indptr[x.rows[i]], end = x.indptr[x.rows[i] + 1];
    size_t j = 0;
    for (; j + 8 * kLanes <= n; j += 8 * kLanes)
      SparseRowProduct<8, 1>(x, begin, end, b + j, ldb, c + i * ldc + j, relu);
    for (; j + 2 * kLanes <= n; j += 2 * kLanes)
      SparseRowProduct<2, 4>(x, begin, end, b + j, ldb, c + i * ldc + j, relu);
    for (; j < n; j += kLanes) SparseRowProduct<1, 4>(x, begin, end, b + j, ldb, c + i * ldc + j, relu);
  }
}

template <int NV>
inline void SparseRowGrad(const SparseRows& x, uint64_t begin, uint64_t end, const float* d, float* db,
                          size_t ldb) {
  Vec dv[NV];
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) dv[v] = Load(d + v * kLanes);
  for (uint64_t e = begin; e < end; ++e) {
    float* target = db + x.indices[e] * ldb;
    const Vec value = Splat(x.values[e]);
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) Store(target + v * kLanes, Load(target + v * kLanes) + value * dv[v]);
  }
}

void SparseGemmGrad(size_t m, size_t n, const SparseRows& x, const uint32_t* cuts, size_t cut_stride,
                    const float* d, size_t ldd, float* db, size_t ldb) {
  for (size_t i = 0; i < m; ++i) {
    uint64_t begin = x.indptr[x.rows[i]], end = x.indptr[x.rows[i] + 1];
    if (cuts != nullptr) {
      const uint32_t* cut = cuts + x.rows[i] * cut_stride;
      end = begin + cut[1];
      begin += cut[0];
    }
    size_t j = 0;
    for (; j + 8 * kLanes <= n; j += 8 * kLanes)
      SparseRowGrad<8>(x, begin, end, d + i * ldd + j, db + j, ldb);
    for (; j + 2 * kLanes <= n; j += 2 * kLanes)
      SparseRowGrad<2>(x, begin, end, d + i * ldd + j, db + j, ldb);
    for (; j < n; j += kLanes) SparseRowGrad<1>(x, begin, end, d + i * ldd + j, db + j, ldb);
  }
}

}  // namespace
}  // namespace l2gcn
