#include "kernels/cpu/feature_cuts.h"

#include <algorithm>

namespace l2gcn {

FeatureCuts::FeatureCuts(const CsrMatrix& x, size_t batch, double row_cost, uint32_t worker_count)
    : workers(worker_count), features(worker_count + size_t{1}, x.cols) {
  std::vector<uint64_t> count(x.cols, 0);
  for (uint32_t column : x.indices) ++count[column];
  const double share = static_cast<double>(batch) / static_cast<double>(x.rows);
  const double total = static_cast<double>(x.nnz()) * share + row_cost * static_cast<double>(x.cols);
  double done = 0;
  features[0] = 0;
  for (size_t column = 0, worker = 1; column < x.cols && worker < workers; ++column) {
    done += static_cast<double>(count[column]) * share + row_cost;
    if (done * workers >= total * static_cast<double>(worker)) features[worker++] = column + 1;
  }
  offsets.resize(x.rows * features.size());
  for (size_t row = 0; row < x.rows; ++row) {
    const uint32_t* begin = x.indices.data() + x.indptr[row];
    const uint32_t* end = x.indices.data() + x.indptr[row + 1];
    for (size_t worker = 0; worker < features.size(); ++worker) {
      offsets[row * features.size() + worker] =
          static_cast<uint32_t>(std::lower_bound(begin, end, features[worker]) - begin);
    }
  }
}

}  // namespace l2gcn
