// The two transposes of an aggregation that is shared out by columns.
//
// A matrix lies by rows among the ranks. In rounds, each rank gets a panel of columns of all rows (the first transpose),
// sums it with the whole graph, and returns to everyone their rows of the result (the second one). A panel is a whole
// number of cache lines wide, and there are several rounds, so that no second copy of the matrix exists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/ranks/rank_rows.h"
#include "l2gcn/array.h"
#include "l2gcn/context.h"
#include "l2gcn/ranks.h"

namespace l2gcn {

// The columns that a rank sums in one round; none: count is 0.
struct ColumnPanel {
  size_t first = 0, count = 0;
  size_t stride = 0;  // elements from one row to the next where a panel is stored
};

// What is exchanged: row i of what is summed is row row_of_node[i] (ascending; empty: i) of a matrix (rows × cols), and
// the result is (nodes × cols) with elements of out_bytes.
struct ColumnShape {
  size_t rows = 0, cols = 0, nodes = 0;
  std::span<const uint32_t> row_of_node;
  size_t out_bytes = 0;
};

class ColumnExchange {
 public:
  // `ranks`, `rows` and what the shape refers to must outlive this.
  ColumnExchange(Ranks& ranks, const RankRows& rows, const ColumnShape& shape);

  size_t width() const { return width_; }  // columns of a panel
  size_t rounds() const;
  size_t sources() const { return sources_.back(); }  // rows of a panel
  size_t own_results() const;                         // rows of the result that this rank has
  ColumnPanel Mine(size_t round) const;

  // The first transpose: (sources × stride) of this rank's columns of the round, from all ranks.
  Array<char> Receive(const Context& context, size_t round) const;
  // The second transpose: `result` (nodes × stride) is of this rank's columns; `out` (own results × cols) gets the
  // columns of every rank.
  void Send(const Context& context, size_t round, const char* result, char* out) const;

 private:
  ColumnPanel PanelOf(uint32_t rank, size_t round) const;

  Ranks& ranks_;
  const RankRows& rows_;
  const ColumnShape shape_;
  const size_t width_;
  const size_t begin_;           // this rank's first row of the matrix
  std::vector<size_t> sources_;  // (ranks + 1) where each rank's rows of a panel begin
  std::vector<size_t> results_;  // (ranks + 1) likewise of the result
};

}  // namespace l2gcn
