// Losses and right and wrong answers of rows by a layer in training, block by block of rows: logits of a block are
// reduced as soon as they are made, so nothing of the rows' number times a width is held. A row's loss depends on the
// row alone and the mean is taken in the order of rows, so the bits do not depend on the number of threads.
#pragma once

#include "kernels/backend.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/input_blocks.h"
#include "kernels/cpu/padded_weights.h"

namespace l2gcn {

// The parameters of a layer where they lie. Without a hidden layer the rows to score are a layer's output.
struct CpuLayerWeights {
  CpuHidden hidden, head;
  const PaddedWeights& theta;
  const float* bias = nullptr;  // (classes) of the logits, or null
};

struct CpuRowsToScore final : RowsToScore {
  InputBlocks x;
  Array<uint32_t> rows;  // of x; empty: all
  Targets targets;

  CpuRowsToScore(InputBlocks matrix, Array<uint32_t> picked, const Targets& wanted)
      : x(std::move(matrix)), rows(std::move(picked)), targets(wanted) {}
  size_t count() const { return rows.empty() ? x.rows : rows.size(); }
};

RowScores ScoreRows(const Context& context, const CpuKernels& kernels, const CpuLayerWeights& layer,
                    const CpuRowsToScore& rows);

}  // namespace l2gcn
