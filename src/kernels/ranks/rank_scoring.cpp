#include "kernels/ranks/rank_scoring.h"

#include <algorithm>

#include "kernels/ranks/rank_rows.h"
#include "kernels/row_loss.h"
#include "ranks/collectives.h"

namespace l2gcn {

RankRowsToScore::RankRowsToScore(const Ranks& ranks, std::span<const uint32_t> rows, size_t matrix_rows,
                                 size_t class_count, bool wants_margins)
    : positions(PositionsByRank(ranks, rows, matrix_rows)),
      count(rows.empty() ? matrix_rows : rows.size()),
      classes(class_count) {
  margins = wants_margins;
}

Targets TargetsAt(const Targets& targets, std::span<const uint32_t> positions) {
  Targets part = targets;
  const size_t classes = targets.classes;
  if (targets.regression()) {
    part.values = Array<float>::Allocate(positions.size() * classes);
    for (size_t i = 0; i < positions.size(); ++i)
      std::copy_n(targets.values.data() + positions[i] * classes, classes,
                  part.values.mutable_data() + i * classes);
  } else if (targets.multilabel) {
    part.matrix = Array<uint8_t>::Allocate(positions.size() * classes);
    for (size_t i = 0; i < positions.size(); ++i)
      std::copy_n(targets.matrix.data() + positions[i] * classes, classes,
                  part.matrix.mutable_data() + i * classes);
  } else {
    part.classes_of = Array<int32_t>::Allocate(positions.size());
    for (size_t i = 0; i < positions.size(); ++i)
      part.classes_of.mutable_data()[i] = targets.classes_of[positions[i]];
  }
  return part;
}

RowScores ScoresOfAll(Ranks& ranks, const RankRowsToScore& rows,
                      const std::function<RowScores(const RowsToScore& own)>& score) {
  RowScores own;
  if (rows.own != nullptr) own = score(*rows.own);
  Matrix of_rows = Matrix::Allocate(own.losses.size(), 2);  // loss and miss
  float* values = of_rows.values.mutable_data();
  for (size_t i = 0; i < own.losses.size(); ++i)
    values[2 * i] = own.losses[i], values[2 * i + 1] = own.misses[i];
  const Matrix everyones = GatherRows(ranks, of_rows, rows.count, rows.positions);
  RowScores all;
  for (size_t i = 0; i < rows.count; ++i) {
    all.losses.push_back(everyones.values[2 * i]);
    all.misses.push_back(everyones.values[2 * i + 1]);
  }
  if (rows.margins) {
    if (rows.own == nullptr) own.margins = Matrix::Allocate(0, rows.classes);
    all.margins = GatherRows(ranks, own.margins, rows.count, rows.positions);
  }
  all.loss = MeanOfRows<float>(all.losses);
  all.true_positive = SumOverRanks(ranks, own.true_positive);
  all.false_positive = SumOverRanks(ranks, own.false_positive);
  all.false_negative = SumOverRanks(ranks, own.false_negative);
  return all;
}

std::unique_ptr<LayerTraining> HolderOf(const Context& context, Backend& trainer, const LayerState& state,
                                        const RankTraining& together) {
  LayerSpec spec = together.spec();
  spec.windows.reset();
  LayerInput input;
  for (const size_t cols : together.columns()) {
    Matrix nothing = Matrix::Allocate(1, cols);
    std::fill_n(nothing.values.mutable_data(), cols, 0.0f);
    input.blocks.push_back(trainer.Upload(context, Features::Dense(std::move(nothing))));
  }
  Targets targets;
  targets.classes = static_cast<uint32_t>(state["classifier"].value.cols);
  targets.classes_of = Array<int32_t>::Zeros(1);
  return trainer.BeginLayer(context, input, {}, targets, spec, state);
}

}  // namespace l2gcn
