#include "kernels/cpu/form_batch.h"

#include <algorithm>

namespace l2gcn {

FormBatch::FormBatch(const CpuKernels& kernels, JoinedMatrix input, Array<uint32_t> samples,
                     const Targets& targets, const LayerSpec& spec)
    : kernels_(kernels),
      input_(std::move(input)),
      samples_(std::move(samples)),
      targets_(targets),
      spec_(spec),
      sample_count_(SampleCount(spec, samples_, input_.rows)),
      batch_(std::min(spec_.batch, sample_count_)),
      steps_(spec_.drop_last ? sample_count_ / batch_ : (sample_count_ + batch_ - 1) / batch_),
      classes_(targets_.classes) {
  drawn_.resize(batch_);
  rows_.resize(batch_);
  class_targets_.resize(targets_.multilabel ? 0 : batch_);
  label_targets_.resize(targets_.multilabel ? batch_ : 0);
  if (dense()) x_ = Array<float>::Zeros(batch_ * x_stride());
  if (!sparse()) return;
  stretch_.resize(2 * size_t{batch_});
  even_.resize(batch_);
  for (uint32_t i = 0; i < batch_; ++i) even_[i] = 2 * i;
}

void FormBatch::Draw(uint32_t epoch, uint32_t step, uint64_t done) {
  if (!order_ || order_->epoch != epoch)
    order_ = {epoch, OrderOf(spec_, sample_count_, sparse() ? 0 : input_.cols, epoch)};
  const size_t first = size_t{step} * batch_;
  size_ = std::min<size_t>(batch_, sample_count_ - first);
  done_ = done;
  if (spec_.windows != nullptr)
    spec_.windows->Await(epoch, static_cast<uint32_t>(first + size_ - 1) / order_->order.window);
  kernels_.permute(order_->order, static_cast<uint32_t>(first), static_cast<uint32_t>(size_), drawn_.data());
  uint64_t nonzeros = 0;
  for (size_t i = 0; i < size_; ++i) {
    rows_[i] = spec_.windows != nullptr ? RingRowOf(order_->order, epoch, first + i)
               : samples_.empty()       ? drawn_[i]
                                        : samples_[drawn_[i]];
    if (targets_.multilabel) {
      label_targets_[i] = targets_.matrix.data() + size_t{drawn_[i]} * classes_;
    } else {
      class_targets_[i] = targets_.classes_of[drawn_[i]];
    }
    if (!sparse()) continue;
    stretch_[2 * i] = nonzeros;
    nonzeros += input_.sparse.indptr[rows_[i] + 1] - input_.sparse.indptr[rows_[i]];
  }
  if (indices_.size() < nonzeros) {
    indices_.resize(nonzeros);
    values_.resize(nonzeros);
  }
}

double FormBatch::LossTerms(std::span<const float> class_weights) const {
  if (targets_.multilabel) return static_cast<double>(size_) * static_cast<double>(classes_);
  if (class_weights.empty()) return static_cast<double>(size_);
  double sum = 0;
  for (size_t i = 0; i < size_; ++i) sum += double{class_weights[static_cast<size_t>(class_targets_[i])]};
  return sum;
}

void FormBatch::Keys(RandomUse use, size_t panel, size_t count, uint32_t plus, uint32_t* keys) const {
  const RandomStream stream(spec_.seed, use, spec_.layer, static_cast<uint32_t>(done_));
  for (size_t i = 0; i < count; ++i) keys[i] = stream.Word(panel + i) + plus;
}

void FormBatch::Gather(size_t panel, size_t count, uint32_t* keys) {
  if (sparse()) GatherSparse(panel, count, keys);
  if (dense()) GatherDense(panel, count, keys);
}

// The batch's non-zeros that are not dropped, and where each cut's share of a row begins.
void FormBatch::GatherSparse(size_t panel, size_t count, uint32_t* keys) {
  const float share = spec_.form.input_dropout, scale = 1.0f / (1.0f - share);
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

void FormBatch::GatherDense(size_t panel, size_t count, uint32_t* keys) {
  float* rows = x_.mutable_data() + panel * x_stride();
  size_t column = 0;
  for (const StoredMatrix& part : input_.dense) {
    kernels_.gather(count, part.cols, part.data(), part.type, rows_.data() + panel, rows + column,
                    x_stride());
    column += part.cols;
  }
  const float share = spec_.form.input_dropout;
  if (share == 0) return;
  Keys(RandomUse::kInputDropout, panel, count, static_cast<uint32_t>(input_.sparse.cols), keys);
  kernels_.drop(count, input_.dense_cols(), x_stride(), keys, DropThreshold(share), 1.0f / (1.0f - share),
                rows);
}

void FormBatch::CutColumns(uint32_t pieces) {
  if (!sparse()) return;
  cuts_ = FeatureCuts(input_.sparse, batch_, 6.0, pieces);
  cut_offsets_.resize(2 * size_t{batch_} * cuts_.features.size());
}

}  // namespace l2gcn
