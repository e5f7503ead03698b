// How the rows of W and Θ are shared out in the second phase of a step: equal work for each worker, in pieces
// that are large at first and small at the end of a share, where others may take them over.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace l2gcn {

struct Range {
  size_t begin, end;
};

// Rows 0 … w_rows−1 of W, of which each costs w_cost, then theta_rows of Θ, of which each costs theta_cost.
struct RowCosts {
  size_t w_rows, w_cost, theta_rows, theta_cost;

  size_t rows() const { return w_rows + theta_rows; }
  size_t cost() const { return w_rows * w_cost + theta_rows * theta_cost; }
  // The row with which `part` of `parts` equal parts of the work begins.
  size_t Row(size_t part, size_t parts) const {
    const size_t of_w = w_rows * w_cost, at = cost() * part / parts;
    return at < of_w ? at / w_cost : w_rows + (at - of_w) / std::max<size_t>(1, theta_cost);
  }
};

inline constexpr size_t kMostRows = 48, kFewRows = 16;  // in a piece, unless there would be too many pieces
inline constexpr size_t kPiecesAtMost = 1 << 14;

// Ends of the pieces, the first beginning with row 0: as many pieces for each of `workers` shares.
inline std::vector<size_t> CutRows(const RowCosts& costs, size_t workers) {
  const size_t shares = std::clamp<size_t>(costs.rows() / (kFewRows / 2), 1, workers);
  const size_t usual = (costs.rows() + shares - 1) / shares;
  const size_t small = std::clamp<size_t>(usual / kFewRows, 1, kMostRows / kFewRows);
  const size_t rest = usual <= small * kFewRows ? 0 : usual - small * kFewRows;
  const size_t large = std::min((rest + kMostRows - 1) / kMostRows, kPiecesAtMost / shares);
  std::vector<size_t> ends;
  for (size_t share = 0; share < shares; ++share) {
    const size_t begin = costs.Row(share, shares), end = costs.Row(share + 1, shares);
    const size_t tail = large == 0 ? end - begin : std::min(end - begin, small * kFewRows);
    for (size_t i = 1; i <= large; ++i) ends.push_back(begin + (end - tail - begin) * i / large);
    for (size_t i = 1; i <= small; ++i) ends.push_back(end - tail + tail * i / small);
  }
  return ends;
}

}  // namespace l2gcn
