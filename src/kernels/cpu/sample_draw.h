// Which samples each step of a layer's training takes, in the order of its epoch, and which rows of the layer's input they
// are: row s of sample s, the rows that were given, or, where rows come by windows, places in the ring of windows.
//
// What is drawn depends on the seed, the layer and the epoch alone, so any part of any step can be drawn by any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/backend.h"
#include "kernels/cpu/kernels.h"

namespace l2gcn {

class SampleDraw {
 public:
  // The order of an epoch, kept by who draws from it again and again.
  struct Epoch {
    uint32_t number;
    EpochOrder order;
  };

  // The input has `rows` rows; `columns` decides about the order (OrderOf): 0 where rows are sparse, or sparse in part.
  SampleDraw(const CpuKernels& kernels, Array<uint32_t> samples, const LayerSpec& spec, size_t rows,
             size_t columns);

  uint32_t samples() const { return sample_count_; }
  uint32_t batch() const { return batch_; }  // samples of every step but perhaps the last
  uint32_t steps() const { return steps_; }  // of an epoch
  size_t SizeOf(uint32_t step) const;        // samples of a step

  // Samples begin … end − 1 of a step, and their rows: to drawn[begin …] and rows[begin …], both (batch).
  void Draw(uint32_t epoch, uint32_t step, size_t begin, size_t end, std::optional<Epoch>& known,
            uint32_t* drawn, uint32_t* rows) const;
  // Returns once the rows of a step are in memory.
  void Await(uint32_t epoch, uint32_t step) const;

 private:
  EpochOrder OrderIn(uint32_t epoch) const { return OrderOf(spec_, sample_count_, columns_, epoch); }

  const CpuKernels& kernels_;
  const Array<uint32_t> rows_of_samples_;  // empty: row s
  const LayerSpec spec_;
  const size_t columns_;
  const uint32_t sample_count_, batch_, steps_;
};

}  // namespace l2gcn
