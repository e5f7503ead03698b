#include "kernels/disk/sample_windows.h"

#include "core/error_format.h"

namespace l2gcn {
namespace {

// The spec without what the windows themselves are part of.
LayerSpec WithoutWindows(LayerSpec spec) {
  spec.windows.reset();
  return spec;
}

}  // namespace

DiskSampleWindows::DiskSampleWindows(const DiskMemory& disk, const LayerSpec& spec, uint32_t samples,
                                     size_t columns, std::vector<size_t> row_bytes)
    : spec_(WithoutWindows(spec)),
      samples_(samples),
      columns_(columns),
      row_bytes_(std::move(row_bytes)),
      held_(kRingWindows, 0) {
  const EpochOrder order = OrderOf(spec_, samples_, columns_, 0);
  L2GCN_ASSERT(order.block > 0);
  window_ = order.window;
  windows_ = order.windows();
  for (const size_t bytes : row_bytes_) {
    files_.push_back(disk.NewBytes());
    rings_.push_back(AllocateAligned(RingRows() * bytes));
  }
}

DiskSampleWindows::~DiskSampleWindows() {
  if (reading_.valid()) reading_.wait();
}

uint64_t DiskSampleWindows::RingBytes(const LayerSpec& spec, uint32_t samples, size_t columns,
                                      size_t row_bytes) {
  return uint64_t{kRingWindows} * OrderOf(spec, samples, columns, 0).window * row_bytes;
}

void DiskSampleWindows::Append(size_t part, const char* rows, size_t count) {
  files_[part].Append(rows, count * row_bytes_[part]);
}

void DiskSampleWindows::Read(uint64_t number) {
  const auto epoch = static_cast<uint32_t>(number / windows_),
             window = static_cast<uint32_t>(number % windows_);
  const EpochOrder order = OrderOf(spec_, samples_, columns_, epoch);
  const size_t place = number % kRingWindows * window_;
  for (size_t part = 0; part < files_.size(); ++part) {
    const size_t bytes = row_bytes_[part];
    char* const to = static_cast<char*>(rings_[part].get()) + place * bytes;
    for (uint32_t row = 0; row < order.SizeOf(window);) {
      const EpochOrder::Run run = order.RunAt(window, row);
      files_[part].Read(uint64_t{run.sample} * bytes, run.count * bytes, to + row * bytes);
      row += run.count;
    }
  }
  held_[number % kRingWindows] = number + 1;
}

void DiskSampleWindows::BeginReading(uint64_t number) {
  next_ = number;
  reading_ = std::async(std::launch::async, [this, number] { Read(number); });
}

void DiskSampleWindows::Await(uint32_t epoch, uint32_t window) {
  const uint64_t number = uint64_t{epoch} * windows_ + window;
  if (reading_.valid() && (next_ <= number || held_[number % kRingWindows] != number + 1)) reading_.get();
  // A training that begins, goes on after a pause or leaves out a last short batch meets windows that nobody read ahead.
  const uint64_t first = window == 0 ? number : number - 1;
  for (uint64_t needed = first; needed <= number; ++needed) {
    if (held_[needed % kRingWindows] != needed + 1) Read(needed);
  }
  if (!reading_.valid() && held_[(number + 1) % kRingWindows] != number + 2) BeginReading(number + 1);
}

}  // namespace l2gcn
