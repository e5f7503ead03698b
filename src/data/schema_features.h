// The features that the columns of a schema have.
#pragma once

#include <cstdint>
#include <vector>

#include "l2gcn/dataset.h"

namespace l2gcn {

inline constexpr uint32_t kNoFeature = ~uint32_t{0};

// The first feature of each column.
std::vector<uint32_t> FirstFeatures(const TableSchema& schema);

// Rows that have a column: those of its node type, or all.
struct NodeRange {
  size_t first = 0, end = 0;
  bool Holds(size_t row) const { return row >= first && row < end; }
};
NodeRange RowsWith(const TableSchema::Column& column, const Dataset& dataset);

// visit(feature, value) for the values of a row that are not zero, in ascending order.
template <class Visit>
void ForEachValue(const Features& features, size_t row, const Visit& visit) {
  if (features.stores_sparse()) {
    const CsrMatrix& csr = features.csr();
    for (uint64_t e = csr.indptr[row]; e < csr.indptr[row + 1]; ++e) visit(csr.indices[e], csr.values[e]);
    return;
  }
  std::vector<float> widened(features.type() == FeatureType::kF32 ? 0 : features.cols());
  const float* values = features.ReadColumns(row, 0, features.cols(), widened.data());
  for (size_t c = 0; c < features.cols(); ++c) {
    if (values[c] != 0) visit(static_cast<uint32_t>(c), values[c]);
  }
}

}  // namespace l2gcn
