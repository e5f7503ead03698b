#include "kernels/cpu/general_batch.h"

#include <algorithm>

namespace l2gcn {

GeneralBatch::GeneralBatch(const CpuKernels& kernels, InputBlocks input, Array<uint32_t> samples,
                           const LayerSpec& spec)
    : kernels_(kernels),
      input_(std::move(input)),
      spec_(spec),
      draw_(kernels, std::move(samples), spec, input_.rows, sparse() ? 0 : input_.cols),
      batch_(draw_.batch()) {
  drawn_.resize(batch_);
  rows_.resize(batch_);
  if (dense()) x_ = Array<float>::Zeros(batch_ * x_stride());
  if (!sparse()) return;
  stretch_.resize(2 * size_t{batch_});
  even_.resize(batch_);
  for (uint32_t i = 0; i < batch_; ++i) even_[i] = 2 * i;
}

void GeneralBatch::Draw(const StepPosition& at) {
  size_ = draw_.SizeOf(at.step);
  done_ = at.done;
  draw_.Await(at.epoch, at.step);
  draw_.Draw(at.epoch, at.step, 0, size_, epoch_, drawn_.data(), rows_.data());
  if (!sparse()) return;
  uint64_t nonzeros = 0;
  for (size_t i = 0; i < size_; ++i) {
    stretch_[2 * i] = nonzeros;
    nonzeros += input_.sparse.indptr[rows_[i] + 1] - input_.sparse.indptr[rows_[i]];
  }
  if (indices_.size() < nonzeros) {
    indices_.resize(nonzeros);
    values_.resize(nonzeros);
  }
}

void GeneralBatch::Keys(RandomUse use, size_t panel, size_t count, uint32_t plus, uint32_t* keys) const {
  const RandomStream stream(spec_.seed, use, spec_.layer, static_cast<uint32_t>(done_));
  for (size_t i = 0; i < count; ++i) keys[i] = stream.Word(panel + i) + plus;
}

void GeneralBatch::Gather(size_t panel, size_t count, uint32_t* keys) {
  if (sparse()) GatherSparse(panel, count, keys);
  if (dense()) GatherDense(panel, count, keys);
}

// The batch's non-zeros that are not dropped, and where each cut's share of a row begins.
void GeneralBatch::GatherSparse(size_t panel, size_t count, uint32_t* keys) {
  const float share = spec_.architecture.input_dropout, scale = 1.0f / (1.0f - share);
  const uint32_t threshold = DropThreshold(share);
  if (share > 0) Keys(RandomUse::kInputDropout, panel, count, 0, keys);
  const CsrMatrix& x = input_.sparse;
  for (size_t i = 0; i < count; ++i) {
    const size_t slot = 2 * (panel + i), row = rows_[panel + i];
    uint32_t* cut = cut_offsets_.data() + slot * cuts_.features.size();
    uint64_t to = stretch_[slot];
    size_t next = 0;
    for (uint64_t e = x.indptr[row]; e < x.indptr[row + 1]; ++e) {
      const uint32_t column = x.indices[e];
      if (share > 0 && DropsColumn(keys[i], column, threshold)) continue;
      while (cuts_.features[next] <= column) cut[next++] = static_cast<uint32_t>(to - stretch_[slot]);
      indices_[to] = column;
      values_[to++] = share > 0 ? x.values[e] * scale : x.values[e];
    }
    for (; next < cuts_.features.size(); ++next) cut[next] = static_cast<uint32_t>(to - stretch_[slot]);
    stretch_[slot + 1] = to;
  }
}

void GeneralBatch::GatherDense(size_t panel, size_t count, uint32_t* keys) {
  float* rows = x_.mutable_data() + panel * x_stride();
  size_t column = 0;
  for (const StoredMatrix& part : input_.dense) {
    kernels_.gather(count, part.cols, part.data(), part.type, rows_.data() + panel, rows + column,
                    x_stride());
    column += part.cols;
  }
  const float share = spec_.architecture.input_dropout;
  if (share == 0) return;
  Keys(RandomUse::kInputDropout, panel, count, static_cast<uint32_t>(input_.sparse.cols), keys);
  kernels_.drop(count, input_.dense_cols(), x_stride(), keys, DropThreshold(share), 1.0f / (1.0f - share),
                rows);
}

void GeneralBatch::CutColumns(uint32_t pieces) {
  if (!sparse()) return;
  cuts_ = FeatureCuts(input_.sparse, batch_, 6.0, pieces);
  cut_offsets_.resize(2 * size_t{batch_} * cuts_.features.size());
}

}  // namespace l2gcn
