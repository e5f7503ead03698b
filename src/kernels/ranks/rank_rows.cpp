#include "kernels/ranks/rank_rows.h"

#include <cstring>
#include <memory>
#include <numeric>

#include "kernels/disk/disk_tensor.h"
#include "ranks/collectives.h"

namespace l2gcn {

Features RowRangeOf(const Features& features, size_t first, size_t count) {
  if (features.stores_sparse()) {
    std::vector<uint32_t> rows(count);
    std::iota(rows.begin(), rows.end(), static_cast<uint32_t>(first));
    return features.PickRows(rows);
  }
  const auto owner = std::make_shared<const Features>(features);
  const size_t row_bytes = features.stored_cols() * BytesOf(features.type());
  Features part = RowsAsFeatures(features.type(), owner,
                                 static_cast<const char*>(features.elements()) + first * row_bytes, count,
                                 features.stored_cols());
  if (features.preparation() == nullptr) return part;
  RowPreparation preparation = *features.preparation();
  if (!preparation.row_factor.empty())
    preparation.row_factor = Array<float>::Borrow(owner, preparation.row_factor.data() + first, count);
  return part.WithPreparation(std::move(preparation));
}

void RankRows::Copy(size_t row, size_t begin, size_t end, char* out) const {
  if (features_.preparation() == nullptr) {
    const char* const elements = static_cast<const char*>(features_.elements());
    std::memcpy(out, elements + (row * features_.cols() + begin) * bytes(), (end - begin) * bytes());
    return;
  }
  auto* const floats = reinterpret_cast<float*>(out);
  const float* from = features_.ReadColumns(row, begin, end, floats);
  if (from != floats) std::memcpy(floats, from, (end - begin) * sizeof(float));
}

std::vector<std::vector<uint32_t>> PositionsByRank(const Ranks& ranks, std::span<const uint32_t> rows,
                                                   size_t count) {
  std::vector<std::vector<uint32_t>> positions(ranks.size());
  if (rows.empty()) {
    for (uint32_t r = 0; r < ranks.size(); ++r) {
      const size_t begin = ShareBegin(count, r, ranks.size());
      positions[r].resize(ShareBegin(count, r + 1, ranks.size()) - begin);
      std::iota(positions[r].begin(), positions[r].end(), static_cast<uint32_t>(begin));
    }
    return positions;
  }
  for (size_t i = 0; i < rows.size(); ++i)
    positions[OwnerOf(rows[i], count, ranks.size())].push_back(static_cast<uint32_t>(i));
  return positions;
}

}  // namespace l2gcn
