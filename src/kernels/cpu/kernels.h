// The CPU's inner loops as a table of functions, one table per instruction set. Each table is the same source
// (kernels-inl.h) compiled with other flags in a file of its own; CpuKernelTable picks once, at run time, and
// L2GCN_SIMD=baseline|avx2|avx512 forces a level so that tests can walk them all.
//
// Every output element is computed by the same sequence of operations wherever a range is cut, so callers may
// split outputs over any number of threads and get the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace l2gcn {

// Widths of weight and activation buffers inside the CPU backend are padded with zeros to this many floats.
inline constexpr size_t kPad = 16;
inline constexpr size_t PadWidth(size_t n) { return (n + kPad - 1) / kPad * kPad; }

struct AdamConstants {
  float step_size;         // lr / (1 − β₁ᵗ)
  float inverse_sqrt_bc2;  // 1 / √(1 − β₂ᵗ)
  float beta1, beta2, epsilon, weight_decay;
};

// Rows row_begin … row_end−1 of out = Â x. See core/propagation.h; pointers may be null where empty there.
struct AggregateArgs {
  const uint64_t* indptr;
  const uint32_t* indices;
  const float* weights;  // or null
  const float* row_scale;
  const float* col_scale;  // or null
  const float* self_scale;
  const uint32_t* row_of_node;  // or null: node i is row i of x
  const float* x;               // (… × cols), stride cols
  float* out;                   // (nodes × cols), stride cols
  size_t cols;
};

struct CpuKernels {
  const char* name;

  void (*aggregate)(const AggregateArgs& args, size_t row_begin, size_t row_end);

  // C (m × n) = A (m × k) · B (k × n); element (i, p) of A is a[i·a_row + p·a_step]; n, ldb and ldc are
  // multiples of kPad. With relu, negative results become 0.
  void (*gemm)(size_t m, size_t n, size_t k, const float* a, size_t a_row, size_t a_step, const float* b,
               size_t ldb, float* c, size_t ldc, bool relu);

  // C (m × n): row i = Σ over the non-zeros of CSR row rows[i] of value · B[column].
  void (*sparse_gemm)(size_t m, size_t n, const uint64_t* indptr, const uint32_t* indices,
                      const float* values, const uint32_t* rows, const float* b, size_t ldb, float* c,
                      size_t ldc, bool relu);
  // dB[column, col_begin … col_end−1] += value · D[i], over the non-zeros of the m picked rows.
  void (*sparse_gemm_grad)(size_t m, size_t col_begin, size_t col_end, const uint64_t* indptr,
                           const uint32_t* indices, const float* values, const uint32_t* rows, const float* d,
                           size_t ldd, float* db, size_t ldb);

  // Softmax cross entropy of m rows of logits (m × classes, stride ld): replaces the logits by
  // scale · ∂loss/∂logits (0 in padding columns) and returns the summed loss.
  double (*softmax_loss)(size_t m, size_t classes, size_t ld, float* logits, const int32_t* target,
                         float scale);
  // Sigmoid cross entropy, summed over entries; target[i] is a row of `classes` 0/1.
  double (*sigmoid_loss)(size_t m, size_t classes, size_t ld, float* logits, const uint8_t* const* target,
                         float scale);

  // d ← scale · d where h > 0, else 0: the gradient through ReLU and through dropout, which left zeros in h.
  void (*relu_grad)(size_t count, const float* h, float scale, float* d);

  void (*adam)(size_t count, const float* grad, float* w, float* m, float* v, const AdamConstants& constants);
};

// The table of the best level this processor has, or of the one L2GCN_SIMD names. Throws Error(kUsage) for a
// level that does not exist or that this processor cannot run.
const CpuKernels& CpuKernelTable();
// Levels this build holds and this processor runs, best first; and one of them by name.
std::vector<std::string> CpuKernelLevels();
const CpuKernels& CpuKernelTable(const std::string& level);

}  // namespace l2gcn
