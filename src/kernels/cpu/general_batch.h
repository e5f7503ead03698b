// The mini-batch that a step of general_step.cpp takes: which samples, and their rows of the input, with
// the input's dropout applied. Rows of dense parts are gathered side by side; the non-zeros of sparse rows that are not
// dropped are copied, because what is dropped differs from sample to sample.
//
// Draw() is called by one thread between phases. Gather() may be called by several threads for different panels of
// rows. What is drawn and dropped depends on the seed, the layer and the step alone.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/rng.h"
#include "kernels/backend.h"
#include "kernels/cpu/feature_cuts.h"
#include "kernels/cpu/input_blocks.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/sample_draw.h"
#include "kernels/cpu/training_step.h"

namespace l2gcn {

class GeneralBatch {
 public:
  GeneralBatch(const CpuKernels& kernels, InputBlocks input, Array<uint32_t> samples, const LayerSpec& spec);

  const InputBlocks& input() const { return input_; }
  const SampleDraw& draw() const { return draw_; }
  uint32_t most() const { return batch_; }  // samples of a step
  size_t size() const { return size_; }     // samples of the step drawn last
  std::span<const uint32_t> drawn() const { return std::span(drawn_).first(size_); }
  bool sparse() const { return input_.sparse.cols > 0; }
  bool dense() const { return input_.dense_cols() > 0; }

  // Draws the samples of a step.
  void Draw(const StepPosition& at);

  // Inputs of the batch's rows panel … panel + count − 1; keys (count) is scratch.
  void Gather(size_t panel, size_t count, uint32_t* keys);
  const float* x(size_t row) const { return x_.data() + row * x_stride(); }  // (batch × dense columns)
  size_t x_stride() const { return PadStride(input_.dense_cols() + kPad); }
  SparseRows sparse_rows(size_t from) const {
    return {stretch_.data(), indices_.data(), values_.data(), even_.data() + from, 0};
  }

  // Random words of the batch's rows panel … panel + count − 1, each plus `plus`.
  void Keys(RandomUse use, size_t panel, size_t count, uint32_t plus, uint32_t* keys) const;

  // Sparse columns are cut into as many stretches; who owns one needs each row's non-zeros that lie in it.
  void CutColumns(uint32_t pieces);
  const FeatureCuts& cuts() const { return cuts_; }
  const uint32_t* cut_offsets(size_t cut) const { return cut_offsets_.data() + cut; }

 private:
  void GatherSparse(size_t panel, size_t count, uint32_t* keys);
  void GatherDense(size_t panel, size_t count, uint32_t* keys);

  const CpuKernels& kernels_;
  const InputBlocks input_;
  const LayerSpec spec_;
  const SampleDraw draw_;
  const uint32_t batch_;                    // of draw_
  std::optional<SampleDraw::Epoch> epoch_;  // the current one
  size_t size_ = 0;
  uint64_t done_ = 0;
  std::vector<uint32_t> drawn_, rows_;  // (batch) samples, and their rows of the input
  Array<float> x_;                      // (batch × dense columns)
  std::vector<uint64_t> stretch_;       // (2 · batch) where each row's kept non-zeros begin and end
  std::vector<uint32_t> even_;          // (batch) 0, 2, 4, …: row numbers into stretch_
  std::vector<uint32_t> indices_;       // of the kept non-zeros
  std::vector<float> values_;
  std::vector<uint32_t> cut_offsets_;  // (2 · batch × cuts + 1) where each cut's stretch of a row begins
  FeatureCuts cuts_;
};

}  // namespace l2gcn
