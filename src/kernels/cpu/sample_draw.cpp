#include "kernels/cpu/sample_draw.h"

#include <algorithm>

namespace l2gcn {

SampleDraw::SampleDraw(const CpuKernels& kernels, Array<uint32_t> samples, const LayerSpec& spec, size_t rows,
                       size_t columns)
    : kernels_(kernels),
      rows_of_samples_(std::move(samples)),
      spec_(spec),
      columns_(columns),
      sample_count_(SampleCount(spec, rows_of_samples_, rows)),
      batch_(std::min(spec_.batch, sample_count_)),
      steps_(spec_.drop_last ? sample_count_ / batch_ : (sample_count_ + batch_ - 1) / batch_) {}

size_t SampleDraw::SizeOf(uint32_t step) const {
  return std::min<size_t>(batch_, sample_count_ - size_t{step} * batch_);
}

void SampleDraw::Draw(uint32_t epoch, uint32_t step, size_t begin, size_t end, std::optional<Epoch>& known,
                      uint32_t* drawn, uint32_t* rows) const {
  if (begin >= end) return;
  if (!known || known->number != epoch) known = {epoch, OrderIn(epoch)};
  const size_t first = size_t{step} * batch_;
  kernels_.permute(known->order, static_cast<uint32_t>(first + begin), static_cast<uint32_t>(end - begin),
                   drawn + begin);
  for (size_t i = begin; i < end; ++i) {
    rows[i] = spec_.windows != nullptr   ? RingRowOf(known->order, epoch, first + i)
              : rows_of_samples_.empty() ? drawn[i]
                                         : rows_of_samples_[drawn[i]];
  }
}

void SampleDraw::Await(uint32_t epoch, uint32_t step) const {
  if (spec_.windows == nullptr) return;
  const auto last = static_cast<uint32_t>(size_t{step} * batch_ + SizeOf(step) - 1);
  spec_.windows->Await(epoch, last / OrderIn(epoch).window);
}

}  // namespace l2gcn
