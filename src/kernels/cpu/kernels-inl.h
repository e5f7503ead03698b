// Bodies of the CPU kernel table, compiled once per instruction set with L2GCN_LANES floats a vector. No
// standard-library templates in here: an inline function compiled for AVX-512 must not be the copy that a
// baseline caller links to. Everything is in an anonymous namespace for the same reason.
#include <math.h>

#include "kernels/cpu/kernels.h"

namespace l2gcn {
namespace {

constexpr size_t kLanes = L2GCN_LANES;
typedef float Vec __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

inline Vec Load(const float* p) { return *reinterpret_cast<const Vec*>(p); }
inline void Store(float* p, Vec v) { *reinterpret_cast<Vec*>(p) = v; }
inline Vec Splat(float x) { return x - Vec{}; }
inline Vec PositivePart(Vec v) { return v > 0.0f ? v : Vec{}; }

// ---- aggregation ------------------------------------------------------------------------------------------

template <bool kWeights, bool kColScale>
inline float EdgeScale(const AggregateArgs& args, uint64_t e, uint32_t node) {
  float scale = 1.0f;
  if (kWeights) scale *= args.weights[e];
  if (kColScale) scale *= args.col_scale[node];
  return scale;
}

inline size_t SourceRow(const AggregateArgs& args, size_t node) {
  return args.row_of_node != nullptr ? args.row_of_node[node] : node;
}

// One row of Â x over columns [c, c + NV·kLanes), accumulated in registers.
template <int NV, bool kWeights, bool kColScale>
inline void AggregateTile(const AggregateArgs& args, size_t row, size_t c) {
  Vec sum[NV];
  for (int v = 0; v < NV; ++v) sum[v] = Vec{};
  const uint64_t end = args.indptr[row + 1];
  for (uint64_t e = args.indptr[row]; e < end; ++e) {
    const uint32_t node = args.indices[e];
    const float* x = args.x + SourceRow(args, node) * args.cols + c;
    const Vec scale = Splat(EdgeScale<kWeights, kColScale>(args, e, node));
    for (int v = 0; v < NV; ++v) {
      sum[v] += (kWeights || kColScale) ? scale * Load(x + v * kLanes) : Load(x + v * kLanes);
    }
  }
  const float* x = args.x + SourceRow(args, row) * args.cols + c;
  float* out = args.out + row * args.cols + c;
  const Vec self = Splat(args.self_scale[row]), scale = Splat(args.row_scale[row]);
  for (int v = 0; v < NV; ++v) Store(out + v * kLanes, scale * sum[v] + self * Load(x + v * kLanes));
}

template <bool kWeights, bool kColScale>
inline void AggregateColumn(const AggregateArgs& args, size_t row, size_t c) {
  float sum = 0;
  for (uint64_t e = args.indptr[row]; e < args.indptr[row + 1]; ++e) {
    const uint32_t node = args.indices[e];
    sum += EdgeScale<kWeights, kColScale>(args, e, node) * args.x[SourceRow(args, node) * args.cols + c];
  }
  args.out[row * args.cols + c] =
      args.row_scale[row] * sum + args.self_scale[row] * args.x[SourceRow(args, row) * args.cols + c];
}

template <bool kWeights, bool kColScale>
void AggregateRows(const AggregateArgs& args, size_t row_begin, size_t row_end) {
  for (size_t row = row_begin; row < row_end; ++row) {
    size_t c = 0;
    for (; c + 8 * kLanes <= args.cols; c += 8 * kLanes) AggregateTile<8, kWeights, kColScale>(args, row, c);
    for (; c + 2 * kLanes <= args.cols; c += 2 * kLanes) AggregateTile<2, kWeights, kColScale>(args, row, c);
    for (; c + kLanes <= args.cols; c += kLanes) AggregateTile<1, kWeights, kColScale>(args, row, c);
    for (; c < args.cols; ++c) AggregateColumn<kWeights, kColScale>(args, row, c);
  }
}

void Aggregate(const AggregateArgs& args, size_t row_begin, size_t row_end) {
  const bool weights = args.weights != nullptr, col_scale = args.col_scale != nullptr;
  if (weights && col_scale) return AggregateRows<true, true>(args, row_begin, row_end);
  if (weights) return AggregateRows<true, false>(args, row_begin, row_end);
  if (col_scale) return AggregateRows<false, true>(args, row_begin, row_end);
  AggregateRows<false, false>(args, row_begin, row_end);
}

// ---- dense products ---------------------------------------------------------------------------------------

// MR rows × NV vectors of C held in registers over the whole of k.
template <int MR, int NV>
inline void GemmTile(size_t k, const float* a, size_t a_row, size_t a_step, const float* b, size_t ldb,
                     float* c, size_t ldc, bool relu) {
  Vec sum[MR][NV];
  for (int i = 0; i < MR; ++i)
    for (int v = 0; v < NV; ++v) sum[i][v] = Vec{};
  for (size_t p = 0; p < k; ++p) {
    Vec bv[NV];
    for (int v = 0; v < NV; ++v) bv[v] = Load(b + p * ldb + v * kLanes);
    for (int i = 0; i < MR; ++i) {
      const Vec av = Splat(a[i * a_row + p * a_step]);
      for (int v = 0; v < NV; ++v) sum[i][v] += av * bv[v];
    }
  }
  for (int i = 0; i < MR; ++i)
    for (int v = 0; v < NV; ++v) Store(c + i * ldc + v * kLanes, relu ? PositivePart(sum[i][v]) : sum[i][v]);
}

template <int NV>
inline void GemmColumns(size_t m, size_t k, const float* a, size_t a_row, size_t a_step, const float* b,
                        size_t ldb, float* c, size_t ldc, bool relu) {
  constexpr int kRows = kLanes == 16 ? 12 : 6;
  size_t i = 0;
  for (; i + kRows <= m; i += kRows) {
    GemmTile<kRows, NV>(k, a + i * a_row, a_row, a_step, b, ldb, c + i * ldc, ldc, relu);
  }
  for (; i < m; ++i) GemmTile<1, NV>(k, a + i * a_row, a_row, a_step, b, ldb, c + i * ldc, ldc, relu);
}

void Gemm(size_t m, size_t n, size_t k, const float* a, size_t a_row, size_t a_step, const float* b,
          size_t ldb, float* c, size_t ldc, bool relu) {
  size_t j = 0;
  for (; j + 2 * kLanes <= n; j += 2 * kLanes)
    GemmColumns<2>(m, k, a, a_row, a_step, b + j, ldb, c + j, ldc, relu);
  for (; j < n; j += kLanes) GemmColumns<1>(m, k, a, a_row, a_step, b + j, ldb, c + j, ldc, relu);
}

// ---- sparse products --------------------------------------------------------------------------------------

void SparseGemm(size_t m, size_t n, const uint64_t* indptr, const uint32_t* indices, const float* values,
                const uint32_t* rows, const float* b, size_t ldb, float* c, size_t ldc, bool relu) {
  for (size_t i = 0; i < m; ++i) {
    const uint64_t begin = indptr[rows[i]], end = indptr[rows[i] + 1];
    for (size_t j = 0; j < n; j += kLanes) {
      Vec sum = Vec{};
      for (uint64_t e = begin; e < end; ++e) sum += Splat(values[e]) * Load(b + indices[e] * ldb + j);
      Store(c + i * ldc + j, relu ? PositivePart(sum) : sum);
    }
  }
}

void SparseGemmGrad(size_t m, size_t col_begin, size_t col_end, const uint64_t* indptr,
                    const uint32_t* indices, const float* values, const uint32_t* rows, const float* d,
                    size_t ldd, float* db, size_t ldb) {
  for (size_t i = 0; i < m; ++i) {
    const uint64_t end = indptr[rows[i] + 1];
    for (size_t j = col_begin; j < col_end; j += kLanes) {
      const Vec dv = Load(d + i * ldd + j);
      for (uint64_t e = indptr[rows[i]]; e < end; ++e) {
        float* target = db + indices[e] * ldb + j;
        Store(target, Load(target) + Splat(values[e]) * dv);
      }
    }
  }
}

// ---- losses -----------------------------------------------------------------------------------------------

double SoftmaxLoss(size_t m, size_t classes, size_t ld, float* logits, const int32_t* target, float scale) {
  double loss = 0;
  for (size_t i = 0; i < m; ++i) {
    float* row = logits + i * ld;
    float top = row[0];
    for (size_t c = 1; c < classes; ++c) top = row[c] > top ? row[c] : top;
    const float at_target = row[target[i]] - top;
    float sum = 0;
    for (size_t c = 0; c < classes; ++c) sum += row[c] = expf(row[c] - top);
    loss += static_cast<double>(logf(sum) - at_target);
    const float inverse = scale / sum;
    for (size_t c = 0; c < classes; ++c) row[c] *= inverse;
    row[target[i]] -= scale;
    for (size_t c = classes; c < ld; ++c) row[c] = 0;
  }
  return loss;
}

// log(1 + e^−|z|) + max(z, 0) − z·y, whose derivative is σ(z) − y.
double SigmoidLoss(size_t m, size_t classes, size_t ld, float* logits, const uint8_t* const* target,
                   float scale) {
  double loss = 0;
  for (size_t i = 0; i < m; ++i) {
    float* row = logits + i * ld;
    const uint8_t* on = target[i];
    float sum = 0;
    for (size_t c = 0; c < classes; ++c) {
      const float z = row[c], y = on[c];
      const float e = expf(-fabsf(z));
      sum += log1pf(e) + (z > 0 ? z : 0) - z * y;
      const float sigmoid = z >= 0 ? 1 / (1 + e) : e / (1 + e);
      row[c] = scale * (sigmoid - y);
    }
    loss += static_cast<double>(sum);
    for (size_t c = classes; c < ld; ++c) row[c] = 0;
  }
  return loss;
}

void ReluGrad(size_t count, const float* h, float scale, float* d) {
  for (size_t i = 0; i < count; ++i) d[i] = h[i] > 0 ? d[i] * scale : 0;
}

// ---- optimiser --------------------------------------------------------------------------------------------

void Adam(size_t count, const float* grad, float* w, float* m, float* v, const AdamConstants& k) {
  for (size_t i = 0; i < count; ++i) {
    const float g = grad[i] + k.weight_decay * w[i];
    m[i] = k.beta1 * m[i] + (1 - k.beta1) * g;
    v[i] = k.beta2 * v[i] + (1 - k.beta2) * g * g;
    w[i] -= k.step_size * m[i] / (__builtin_sqrtf(v[i]) * k.inverse_sqrt_bc2 + k.epsilon);
  }
}

constexpr CpuKernels MakeTable(const char* name) {
  return {name, Aggregate, Gemm, SparseGemm, SparseGemmGrad, SoftmaxLoss, SigmoidLoss, ReluGrad, Adam};
}

}  // namespace
}  // namespace l2gcn
