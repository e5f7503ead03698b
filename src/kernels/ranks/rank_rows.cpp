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

std::vector<uint32_t> OwnRows(const Ranks& ranks, const std::vector<std::vector<uint32_t>>& positions,
                              std::span<const uint32_t> rows, size_t count) {
  std::vector<uint32_t> own = positions[ranks.rank()];
  const auto begin = static_cast<uint32_t>(ShareBegin(count, ranks.rank(), ranks.size()));
  for (uint32_t& row : own) row = (rows.empty() ? row : rows[row]) - begin;
  return own;
}

Matrix GatherRows(Ranks& ranks, const Matrix& own, size_t count,
                  const std::vector<std::vector<uint32_t>>& positions) {
  Matrix all = Matrix::Allocate(count, own.cols);
  char* const values = reinterpret_cast<char*>(all.values.mutable_data());
  const size_t row_bytes = own.cols * sizeof(float);
  const auto put = [&](uint32_t of, const char* rows) {
    for (size_t i = 0; i < positions[of].size(); ++i)
      std::memcpy(values + positions[of][i] * row_bytes, rows + i * row_bytes, row_bytes);
  };
  const std::span<const char> mine(reinterpret_cast<const char*>(own.values.data()),
                                   positions[ranks.rank()].size() * row_bytes);
  put(ranks.rank(), mine.data());
  std::vector<char> rows;
  ForPartners(ranks, [&](uint32_t to, uint32_t from) {
    rows.resize(positions[from].size() * row_bytes);
    ranks.Exchange(to, mine, from, rows);
    put(from, rows.data());
  });
  return all;
}

}  // namespace l2gcn
