// Scoring of rows that lie among ranks: each rank scores those that it holds, and the scores of all of them are put
// together on every rank. Losses and misses are gathered and their mean is taken in order, and only whole numbers are
// summed over ranks, so the result has the bits that one process gives.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/backend.h"
#include "kernels/ranks/rank_training.h"
#include "l2gcn/ranks.h"

namespace l2gcn {

struct RankRowsToScore final : RowsToScore {
  // `rows` of a matrix of `matrix_rows` rows; empty: all of them.
  RankRowsToScore(const Ranks& ranks, std::span<const uint32_t> rows, size_t matrix_rows, size_t class_count,
                  bool wants_margins);

  std::vector<std::vector<uint32_t>> positions;  // of every rank, among the rows to score
  size_t count = 0, classes = 0;
  std::shared_ptr<const RowsToScore> own;  // null: this rank has none of them
};

// The targets of the rows at these positions alone.
Targets TargetsAt(const Targets& targets, std::span<const uint32_t> positions);

// The scores of all rows on every rank; `score` makes those of this rank's own. Called by all ranks.
RowScores ScoresOfAll(Ranks& ranks, const RankRowsToScore& rows,
                      const std::function<RowScores(const RowsToScore& own)>& score);

// A training that holds weights and makes no step, so that rows can be scored by them. Its input has the parts that
// rank 0's has.
std::unique_ptr<LayerTraining> HolderOf(const Context& context, Backend& trainer, const LayerState& state,
                                        const RankTraining& together);

}  // namespace l2gcn
