#include "train/block.h"

namespace l2gcn {

void TransposeBlock(const Block& block, Block& out) {
  out.rows = block.cols;
  out.cols = block.rows;
  out.indptr.assign(size_t{block.cols} + 1, 0);
  out.indices.resize(block.entries());
  out.values.resize(block.entries());
  out.clean.resize(block.clean.size());
  for (uint32_t column : block.indices) ++out.indptr[column + 1];
  for (size_t i = 0; i < block.cols; ++i) out.indptr[i + 1] += out.indptr[i];
  std::vector<uint64_t> next(out.indptr.begin(), out.indptr.end() - 1);
  for (uint32_t row = 0; row < block.rows; ++row) {
    for (uint64_t e = block.indptr[row]; e < block.indptr[row + 1]; ++e) {
      const uint64_t at = next[block.indices[e]]++;
      out.indices[at] = row;
      out.values[at] = block.values[e];
      if (!block.clean.empty()) out.clean[at] = block.clean[e];
    }
  }
}

}  // namespace l2gcn
