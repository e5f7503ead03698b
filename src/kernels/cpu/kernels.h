// The CPU's inner loops as a table of functions, one table per instruction set. Each table is the same source
// (kernels-inl.h) compiled with other flags in a file of its own; CpuKernelTable picks once, at run time, and
// L2GCN_SIMD=baseline|avx2|avx512|amx forces a level so that tests can walk them all.
//
// Every output element is computed by the same sequence of operations wherever a range is cut, so callers may
// split outputs over any number of threads and get the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "l2gcn/choices.h"

namespace l2gcn {

struct EpochOrder;

// Widths of weight and activation buffers inside the CPU backend are padded with zeros to this many floats.
inline constexpr size_t kPad = 16;
inline constexpr size_t PadWidth(size_t n) { return (n + kPad - 1) / kPad * kPad; }
// Distance between rows of a buffer `width` floats wide: an odd number of cache lines once rows are long, so
// that a column of them does not fall into few cache sets.
inline constexpr size_t PadStride(size_t width) {
  const size_t lines = PadWidth(width) / 16;
  return (lines < 8 ? lines : lines | 1) * 16;
}

inline constexpr size_t BytesOf(FeatureType type) { return type == FeatureType::kF32 ? 4 : 2; }

// Terms of a product that are packed together (CpuKernels::pack).
inline constexpr size_t kPackedTerms = 32;

struct AdamConstants {
  float step_size;         // lr / (1 − β₁ᵗ)
  float inverse_sqrt_bc2;  // 1 / √(1 − β₂ᵗ)
  float beta1, beta2, epsilon, weight_decay;
};

// What happens to a product before it is stored.
enum class Finish { kNone, kRelu, kMask };

// Cache lines a product asks for while it computes, a few every four terms: so spread, fetching what comes
// next costs nothing, where a burst of requests would stall.
struct PrefetchQueue {
  const void* const* next = nullptr;
  const void* const* end = nullptr;
  int at_once = 1;  // set by the product, from how many it has time for
};

// C (m × n) = A (m × k) · B (k × n), all row-major; n, ldb and ldc are multiples of kPad.
struct GemmArgs {
  size_t m, n, k;
  const float* a;
  size_t lda;
  const float* b;
  size_t ldb;
  float* c;
  size_t ldc;
  Finish finish = Finish::kNone;
  const float* mask = nullptr;  // kMask: (m × n), stride ldc; C ← mask_scale · C where mask > 0, else 0
  float mask_scale = 1;
  PrefetchQueue* prefetch = nullptr;  // or null; used up as far as there is time
  size_t group = 0;  // gemm_transposed: terms added up first; sums of groups are added in order. 0: all
  // B as CpuKernels::pack has left it, to be read in place of b: terms packed_begin … of a matrix of packed_k terms.
  const uint16_t* packed_b = nullptr;
  size_t packed_k = 0, packed_begin = 0;  // packed_begin is a multiple of kPackedTerms
};

// Non-zeros of picked rows of a CSR matrix.
struct SparseRows {
  const uint64_t* indptr;
  const uint32_t* indices;
  const float* values;
  const uint32_t* rows;  // (m + ahead) which rows
  size_t ahead = 0;      // rows that follow and will be wanted soon: prefetched
};

// Rows row_begin … row_end−1 of out = Â x over one tile of columns. See core/propagation.h; pointers may be
// null where empty there. An element x of a row may be prepared as it is read (l2gcn/features.h):
// (x · row_factor[row of x] − shift[column]) · factor[column]. Parts that do nothing hold ones and zeros,
// which leave the bits alone. Prepared rows are at least kPad columns wide.
struct AggregateArgs {
  size_t nodes;
  const uint64_t* indptr;
  const uint32_t* indices;
  const float* weights;  // or null
  const float* row_scale;
  const float* col_scale;  // or null
  const float* self_scale;
  const uint32_t* row_of_node;  // or null: node i is row i of x
  const void* x;                // first row of the tile's columns
  size_t x_stride;              // elements between rows of x
  void* out;                    // begins with row out_first
  size_t out_first;
  size_t out_stride;
  size_t cols;                               // of the tile
  FeatureType type;                          // of x
  FeatureType out_type = FeatureType::kF32;  // of out: f32, or the type of x if that is not prepared
  const float* shift = nullptr;              // (cols) of the tile, or null: x is not prepared
  const float* factor = nullptr;             // (cols) of the tile
  const float* row_factor = nullptr;         // (rows of x)
  size_t first_row = 0;                      // the node that row 0 stands for
  const uint32_t* own = nullptr;  // (rows) the node that each row stands for, in place of first_row
};

struct CpuKernels {
  const char* name;

  void (*aggregate)(const AggregateArgs& args, size_t row_begin, size_t row_end);

  void (*gemm)(const GemmArgs& args);
  // C (m × n) = Aᵀ · B with A (k × m) and B (k × n): a weight gradient, summed over the k samples of a batch.
  void (*gemm_transposed)(const GemmArgs& args);
  // out[i] = parts[i] + parts[stride + i] + … over `groups` parts, in order; count is a multiple of kPad.
  void (*add_groups)(size_t count, size_t groups, size_t stride, const float* parts, float* out);

  // C (m × n): row i = Σ over the non-zeros of CSR row rows[i] of value · B[column]. With relu, negative
  // results become 0.
  void (*sparse_gemm)(size_t m, size_t n, const SparseRows& x, const float* b, size_t ldb, float* c,
                      size_t ldc, bool relu);
  // dB[column] += value · D[i] over the non-zeros of the m picked rows; with `cuts`, over those from position
  // cuts[rows[i] · cut_stride] to cuts[rows[i] · cut_stride + 1] of each row: the columns one thread owns.
  void (*sparse_gemm_grad)(size_t m, size_t n, const SparseRows& x, const uint32_t* cuts, size_t cut_stride,
                           const float* d, size_t ldd, float* db, size_t ldb);

  // Softmax cross entropy of m rows of logits (m × classes, stride ld, padded to a multiple of kPad):
  // replaces the logits by scale · ∂loss/∂logits (0 in padding columns). Returns the summed loss if
  // `want_loss`. A row's loss counts weights[target] times; weights is (classes, padded) or null: once.
  double (*softmax_loss)(size_t m, size_t classes, size_t ld, float* logits, const int32_t* target,
                         const float* weights, float scale, bool want_loss);
  // Sigmoid cross entropy, summed over entries; target[i] is a row of `classes` 0/1. Entries that are 1 count
  // weights[class] times; weights as above.
  double (*sigmoid_loss)(size_t m, size_t classes, size_t ld, float* logits, const uint8_t* const* target,
                         const float* weights, float scale, bool want_loss);
  // Loss of numbers (l2gcn/choices.h), summed over the entries that are not missing times the weights (m) of their rows,
  // null: all 1. Replaces `predicted` (m × targets, stride ld) by scale · ∂loss/∂predicted, 0 where a target is missing
  // and in padding columns. truth[i] has `targets` numbers, NaN = missing.
  double (*regression_loss)(size_t m, size_t targets, size_t ld, float* predicted, const float* const* truth,
                            const float* weights, Loss loss, float scale, bool want_loss);

  // d ← scale · d where h > 0, else 0: the gradient through ReLU and through dropout, which left zeros in h.
  void (*relu_grad)(size_t count, const float* h, float scale, float* d);

  // Hidden layers (kernels/backend.h), row by row of m; n columns of ld, those
  // from n to PadWidth(n) become 0.
  //   drop           x ← scale · x, or 0 where DropsColumn(keys[row], column, threshold)
  //   bias_relu      h = ReLU(y + bias); h may be y
  //   norm_relu      y ← normalised y, inverse (m) ← 1/√(var + ε), h = ReLU(gain ∘ y + shift)
  //   norm_gradient  d ← ∂loss/∂(product), from d = ∂loss/∂(gain ∘ y + shift) and the y, inverse of norm_relu
  //   scale_relu     h = ReLU(scale ∘ y + shift)
  //   column_moments mean[c] of the m rows, squares[c] = Σ (y[·][c] − mean[c])²; here n is a multiple of kPad
  //   batch_norm_relu      y ← (y − mean) ∘ inverse, h = ReLU(gain ∘ y + shift); mean, inverse (n, padded)
  //   batch_norm_gradient  d ← slopes[0] ∘ (d − slopes[1] − y ∘ slopes[2]), slopes (3 × ld)
  //   column_sums    sum[c] = Σ d[·][c], and, where y is not null, product[c] = Σ d[·][c] · y[·][c], over m rows
  //                  in order; here n is a multiple of kPad
  void (*drop)(size_t m, size_t n, size_t ld, const uint32_t* keys, uint32_t threshold, float scale,
               float* x);
  void (*bias_relu)(size_t m, size_t n, size_t ld, const float* bias, const float* y, float* h);
  void (*norm_relu)(size_t m, size_t n, size_t ld, const float* gain, const float* shift, float* y,
                    float* inverse, float* h);
  void (*norm_gradient)(size_t m, size_t n, size_t ld, const float* gain, const float* y,
                        const float* inverse, float* d);
  void (*scale_relu)(size_t m, size_t n, size_t ld, const float* scale, const float* shift, const float* y,
                     float* h);
  void (*column_moments)(size_t m, size_t n, size_t ld, const float* y, float* mean, float* squares);
  void (*batch_norm_relu)(size_t m, size_t n, size_t ld, const float* mean, const float* inverse,
                          const float* gain, const float* shift, float* y, float* h);
  void (*batch_norm_gradient)(size_t m, size_t n, size_t ld, const float* slopes, const float* y, float* d);
  void (*column_sums)(size_t m, size_t n, size_t ld, const float* d, const float* y, float* sum,
                      float* product);

  void (*adam)(size_t count, const float* grad, float* w, float* m, float* v, const AdamConstants& constants);

  // out[i] = shuffle(begin + i), i < count.
  void (*permute)(const EpochOrder& order, uint32_t begin, uint32_t count, uint32_t* out);

  // Row i of dst (m × cols, stride ldd) = row rows[i] (null: row i) of src (… × cols, dense), widened to f32;
  // columns cols … PadWidth(cols)−1 of dst become 0.
  void (*gather)(size_t m, size_t cols, const void* src, FeatureType type, const uint32_t* rows, float* dst,
                 size_t ldd);
  // Elements of src in `type`, rounded to nearest even.
  void (*narrow)(size_t count, const float* src, FeatureType type, void* dst);

  // Values begin … end−1 of x: value i becomes 0 where the 16-bit word i of the RandomStream of this seed and name is
  // below `threshold`, and scale · x[i] elsewhere. Both are multiples of kPad.
  void (*dropout)(size_t begin, size_t end, uint64_t seed, uint64_t name, uint32_t threshold, float scale,
                  float* x);

  // Where products read B in a form of their own, who multiplies by the same B again and again can pack it once: rows
  // begin … end−1 of B (k × n) into `packed`, packed_values(k, n) values that were zeros. Several threads may pack
  // different rows at once. Null where B is read as it lies.
  size_t (*packed_values)(size_t k, size_t n) = nullptr;
  void (*pack)(const float* b, size_t ldb, size_t k, size_t n, size_t begin, size_t end,
               uint16_t* packed) = nullptr;
};

// The table of the best level this processor has, or of the one L2GCN_SIMD names. Throws Error(kUsage) for a
// level that does not exist or that this processor cannot run. For bf16 its products round their operands where the
// level has instructions for it (kernels_amx.cpp); all others compute in f32.
const CpuKernels& CpuKernelTable(Precision precision = Precision::kFp32);
// Levels this build holds and this processor runs, best first; and one of them by name.
std::vector<std::string> CpuKernelLevels();
const CpuKernels& CpuKernelTable(const std::string& level, Precision precision = Precision::kFp32);

}  // namespace l2gcn
