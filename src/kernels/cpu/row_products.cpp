#include "kernels/cpu/row_products.h"

#include <algorithm>
#include <cstring>

#include "core/error_format.h"

namespace l2gcn {

void GatherRows(const CpuKernels& kernels, const StoredMatrix& x, const uint32_t* picked, size_t count,
                float* gathered, size_t stride) {
  const size_t width = PadWidth(x.cols);
  if (!x.prepared()) return kernels.gather(count, x.cols, x.data(), x.type, picked, gathered, stride);
  for (size_t i = 0; i < count; ++i) {
    float* to = gathered + i * stride;
    const float* from = x.source.ReadColumns(picked[i], 0, x.cols, to);
    if (from != to) std::memcpy(to, from, x.cols * sizeof(float));
    std::fill(to + x.cols, to + width, 0.0f);
  }
}

void BlocksProduct(const CpuKernels& kernels, const InputBlocks& x, const PaddedWeights& w,
                   const uint32_t* picked, size_t size, bool relu, size_t x_stride, float* gathered,
                   float* more, float* y) {
  L2GCN_ASSERT(!relu || x.sparse.cols == 0 || x.dense.empty());
  const size_t n = PadWidth(w.cols), sparse_cols = x.sparse.cols;
  if (sparse_cols > 0) {
    kernels.sparse_gemm(size, n,
                        {x.sparse.indptr.data(), x.sparse.indices.data(), x.sparse.values.data(), picked, 0},
                        w.w.data(), w.stride, y, w.stride, relu);
  }
  if (x.dense.empty()) return;
  size_t column = 0;
  for (const StoredMatrix& part : x.dense) {
    GatherRows(kernels, part, picked, size, gathered + column, x_stride);
    column += part.cols;
  }
  float* const product = sparse_cols > 0 ? more : y;
  kernels.gemm({size, n, column, gathered, x_stride, w.w.data() + sparse_cols * w.stride, w.stride, product,
                w.stride, relu ? Finish::kRelu : Finish::kNone});
  if (sparse_cols == 0) return;
  for (size_t i = 0; i < size; ++i) {
    for (size_t c = 0; c < n; ++c) y[i * w.stride + c] += more[i * w.stride + c];
  }
}

}  // namespace l2gcn
