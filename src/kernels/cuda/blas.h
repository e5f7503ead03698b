// Matrix products by cuBLAS, which is loaded when it is first wanted: the program starts, and trains layers of the
// paper's form on a GPU, where the library is not installed.
//
// Products are row-major, of operands in f32 or, with --precision bf16, in bf16; sums and results are f32. The
// workspace is this class's own and products go to one stream, so equal calls give equal bits and may be captured in
// a CUDA graph.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "kernels/cuda/rows.h"
#include "kernels/cuda/runtime.h"
#include "l2gcn/choices.h"

namespace l2gcn::cuda {

// C (m × n) = op(A) op(B), op transposing or not; the ld are distances between rows as they lie in memory.
struct BlasProduct {
  size_t m = 0, n = 0, k = 0;
  const void* a = nullptr;  // (m × k), or (k × m) to be transposed
  size_t lda = 0;
  bool a_transposed = false;
  const void* b = nullptr;  // (k × n), or (n × k) to be transposed
  size_t ldb = 0;
  bool b_transposed = false;
  float* c = nullptr;
  size_t ldc = 0;
};

class Blas {
 public:
  // Throws Error(kUsage) where cuBLAS cannot be loaded.
  Blas(const std::shared_ptr<Device>& device, cudaStream_t stream, Precision precision);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  // The type of both operands: kF32 or kBf16.
  RowKind operands() const { return precision_ == Precision::kBf16 ? RowKind::kBf16 : RowKind::kF32; }
  void Multiply(const BlasProduct& product) const;

 private:
  const Precision precision_;
  Buffer workspace_;
  void* handle_ = nullptr;
};

}  // namespace l2gcn::cuda
