#include "kernels/cpu/input_blocks.h"

#include <algorithm>

#include "core/error_format.h"

namespace l2gcn {

CsrMatrix ConcatenateSparse(const std::vector<const CsrMatrix*>& parts) {
  CsrMatrix joined;
  joined.rows = parts.front()->rows;
  uint64_t nonzeros = 0;
  for (const CsrMatrix* part : parts) nonzeros += part->nnz(), joined.cols += part->cols;
  joined.indptr = Array<uint64_t>::Allocate(joined.rows + 1);
  joined.indices = Array<uint32_t>::Allocate(nonzeros);
  joined.values = Array<float>::Allocate(nonzeros);
  uint64_t* indptr = joined.indptr.mutable_data();
  uint32_t* indices = joined.indices.mutable_data();
  float* values = joined.values.mutable_data();
  uint64_t at = 0;
  for (size_t row = 0; row < joined.rows; ++row) {
    indptr[row] = at;
    uint32_t first = 0;
    for (const CsrMatrix* part : parts) {
      for (uint64_t e = part->indptr[row]; e < part->indptr[row + 1]; ++e, ++at) {
        indices[at] = first + part->indices[e];
        values[at] = part->values[e];
      }
      first += static_cast<uint32_t>(part->cols);
    }
  }
  indptr[joined.rows] = at;
  return joined;
}

}  // namespace l2gcn
