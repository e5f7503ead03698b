// Losses and right and wrong answers of rows by a layer in training on a GPU. Activations and logits are made for a
// block of rows at a time and reduced there; a loss and a miss for each row and three counts come to the host, and where they
// are wanted the rows' margins. A row's loss depends on the row alone and counts are whole numbers, so equal calls give
// equal bits.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "kernels/backend.h"
#include "kernels/cuda/layer_training.h"
#include "kernels/cuda/tensor.h"

namespace l2gcn::cuda {

struct CudaRowsToScore final : RowsToScore {
  LayerInput x;
  std::shared_ptr<const DeviceTargets> targets;  // its samples are the rows

  const uint32_t* picked() const {
    return targets->samples.empty() ? nullptr : targets->sample_rows.as<uint32_t>();
  }
};

// One pass over all rows to score.
class ScorePass {
 public:
  // A row takes `row_bytes` while its block is worked off.
  ScorePass(const std::shared_ptr<Device>& device, const CudaRowsToScore& rows, size_t row_bytes);
  // Rows that a block has at most: as many whatever the number of rows, so that products of whole blocks are alike.
  size_t block() const { return block_; }
  // Reduces logits z (count × stride, f32) of rows first … first + count − 1; bias (classes) may be null.
  void Reduce(size_t first, size_t count, const float* z, size_t stride, const float* bias);
  RowScores Finish();

 private:
  const std::shared_ptr<Device> device_;
  const DeviceTargets& targets_;
  const bool wants_margins_;
  size_t block_ = 1;
  Buffer losses_;   // (rows)
  Buffer misses_;   // (rows)
  Buffer margins_;  // (rows × classes), or unused
  Buffer counts_;   // (3) true and false positives, false negatives
};

// By logits X Θ, where the rows are a layer's output.
RowScores ScoreOutput(const Context& context, const std::shared_ptr<Device>& device, const Matrix& theta,
                      const CudaRowsToScore& rows, Precision precision);

class CudaTraining : public LayerTraining {
 public:
  virtual RowScores Score(const Context& context, const CudaRowsToScore& rows) const = 0;
};

}  // namespace l2gcn::cuda
