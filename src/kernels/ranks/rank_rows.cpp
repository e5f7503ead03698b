#include "kernels/ranks/rank_rows.h"

#include <cstring>
#include <memory>
#include <numeric>

#include "core/row_preparation.h"
#include "core/threads.h"
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

Features RoutedRows(Ranks& ranks, const RankRows& own, const RankMatrixShape& shape,
                    std::span<const uint32_t> rows) {
  const uint32_t size = ranks.size(), rank = ranks.rank();
  const size_t row_bytes = shape.cols * own.bytes();
  const size_t first = ShareBegin(rows.size(), rank, size),
               count = ShareBegin(rows.size(), rank + 1, size) - first;
  const std::shared_ptr<void> out = AllocateAligned(count * row_bytes);
  // visit(position) of the rows that `to` wants and `from` has.
  const auto for_rows = [&](uint32_t to, uint32_t from, const auto& visit) {
    const size_t low = ShareBegin(shape.rows, from, size), high = ShareBegin(shape.rows, from + 1, size);
    for (size_t i = ShareBegin(rows.size(), to, size); i < ShareBegin(rows.size(), to + 1, size); ++i) {
      if (rows[i] >= low && rows[i] < high) visit(i);
    }
  };
  const auto copy = [&](size_t i, char* to) {
    own.Copy(rows[i] - ShareBegin(shape.rows, rank, size), 0, shape.cols, to);
  };
  const auto place = [&](size_t i) { return static_cast<char*>(out.get()) + (i - first) * row_bytes; };
  for_rows(rank, rank, [&](size_t i) { copy(i, place(i)); });
  ForPartners(ranks, [&](uint32_t to, uint32_t from) {
    std::vector<char> sent, received;
    for_rows(to, rank, [&](size_t i) {
      sent.resize(sent.size() + row_bytes);
      copy(i, sent.data() + sent.size() - row_bytes);
    });
    for_rows(rank, from, [&](size_t) { received.resize(received.size() + row_bytes); });
    ranks.Exchange(to, sent, from, received);
    const char* at = received.data();
    for_rows(rank, from, [&](size_t i) {
      std::memcpy(place(i), at, row_bytes);
      at += row_bytes;
    });
  });
  return RowsAsFeatures(own.type(), out, static_cast<const char*>(out.get()), count, shape.cols);
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

// Of 16 bits, the first one is the sign in either type.
void Rectify(const Context& context, FeatureType type, void* values, size_t count) {
  ParallelFor(context, count, 1 << 16, [&](size_t begin, size_t end) {
    auto* const floats = static_cast<float*>(values);
    auto* const halves = static_cast<uint16_t*>(values);
    for (size_t i = begin; type == FeatureType::kF32 && i < end; ++i)
      floats[i] = floats[i] <= 0 ? 0 : floats[i];
    for (size_t i = begin; type != FeatureType::kF32 && i < end; ++i)
      halves[i] = halves[i] < 0x8000 ? halves[i] : 0;
  });
}

}  // namespace l2gcn
