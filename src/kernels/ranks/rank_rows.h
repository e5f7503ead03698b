// Rows of a dense matrix that this rank holds, as bytes to be sent: as they are stored, or prepared (as f32) where they
// are features that still have to be.
#pragma once

#include <span>
#include <vector>

#include "kernels/cpu/kernels.h"
#include "l2gcn/features.h"
#include "l2gcn/ranks.h"

namespace l2gcn {

// Features rows first … first + count − 1 of `features`, sharing their memory where they are dense.
Features RowRangeOf(const Features& features, size_t first, size_t count);

class RankRows {
 public:
  explicit RankRows(Features features) : features_(std::move(features)) {}

  FeatureType type() const {
    return features_.preparation() != nullptr ? FeatureType::kF32 : features_.type();
  }
  size_t bytes() const { return BytesOf(type()); }
  // Columns begin … end − 1 of a row to `out`.
  void Copy(size_t row, size_t begin, size_t end, char* out) const;

 private:
  Features features_;
};

// The shape of a whole matrix, of which every rank holds a share.
struct RankMatrixShape {
  size_t rows = 0, cols = 0;
};

// Rows of a matrix to the ranks that want them: row i of a matrix whose rows are shared out is row rows[i] of the given
// one; this rank's share of it. `own` are this rank's rows. Called by all ranks.
Features RoutedRows(Ranks& ranks, const RankRows& own, const RankMatrixShape& shape,
                    std::span<const uint32_t> rows);

// Which rank holds each of `rows`, which are rows of a matrix of `count` rows: for every rank the positions in `rows`
// (ascending) of those that it holds. Empty `rows` stand for all rows.
std::vector<std::vector<uint32_t>> PositionsByRank(const Ranks& ranks, std::span<const uint32_t> rows,
                                                   size_t count);
// This rank's rows among `rows` (empty: all) by those positions, counted from the first row that it holds.
std::vector<uint32_t> OwnRows(const Ranks& ranks, const std::vector<std::vector<uint32_t>>& positions,
                              std::span<const uint32_t> rows, size_t count);
// The matrix of `count` rows of which each rank has those at its positions, on every rank.
Matrix GatherRows(Ranks& ranks, const Matrix& own, size_t count,
                  const std::vector<std::vector<uint32_t>>& positions);

}  // namespace l2gcn
