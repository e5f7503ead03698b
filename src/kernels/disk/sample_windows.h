// The rows of a layer's samples in scratch files, brought to memory window by window (core/sample_order.h): while one
// window is trained the next one is read.
#pragma once

#include <future>
#include <memory>
#include <vector>

#include "core/disk_memory.h"
#include "kernels/backend.h"

namespace l2gcn {

class DiskSampleWindows final : public SampleWindows {
 public:
  // Rows of `columns` columns in all, in parts of row_bytes[p] bytes each.
  DiskSampleWindows(const DiskMemory& disk, const LayerSpec& spec, uint32_t samples, size_t columns,
                    std::vector<size_t> row_bytes);
  ~DiskSampleWindows() override;

  // Appends `count` rows to the file of a part. All rows are written before the first is read.
  void Append(size_t part, const char* rows, size_t count);
  // The ring of a part: (kRingWindows × window rows), filled by Await.
  std::shared_ptr<void> Ring(size_t part) const { return rings_[part]; }
  size_t RingRows() const { return size_t{kRingWindows} * window_; }
  // Memory that the rings of such a layer take.
  static uint64_t RingBytes(const LayerSpec& spec, uint32_t samples, size_t columns, size_t row_bytes);

  uint32_t samples() const override { return samples_; }
  void Await(uint32_t epoch, uint32_t window) override;

 private:
  void Read(uint64_t number);
  void BeginReading(uint64_t number);

  const LayerSpec spec_;
  const uint32_t samples_;
  const size_t columns_;
  const std::vector<size_t> row_bytes_;
  uint32_t window_ = 0, windows_ = 0;  // rows of one, and how many an epoch has
  std::vector<ScratchBytes> files_;
  std::vector<std::shared_ptr<void>> rings_;
  std::vector<uint64_t> held_;  // (kRingWindows) which window each place holds, counted over epochs, plus 1
  std::future<void> reading_;   // of window `next_`
  uint64_t next_ = 0;
};

}  // namespace l2gcn
