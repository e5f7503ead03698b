// The layout of matrices of a run from disk, as functions of the budget and of counts alone. So a plan computed in advance and
// the run itself agree.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace l2gcn {

constexpr size_t kPanelBytes = 64;           // of a row in a panel of a scratch file: a cache line
constexpr size_t kPanelColumnsAtMost = 128;  // wider panels are cut up by the kernel anyway
constexpr double kPanelShare = 0.6;          // of the memory that is free when an aggregation begins
constexpr double kAheadShare = 0.9;          // of the same, for the panel and what is read of the next one
constexpr size_t kDiskBuffers = 8;           // of a run from disk, at a time
constexpr double kSampleShare = 0.6;         // of the memory that is free when a layer's training begins
constexpr size_t kLeastBlockRows = 64;       // whose panel of 64 bytes a row fills a page
constexpr size_t kLongRow = 2048;  // bytes: blocks have as many rows as if a row were at least so long

// Bytes of one buffer; there are about kDiskBuffers at a time.
inline size_t DiskBufferBytes(uint64_t budget) {
  return std::bit_floor(std::clamp<size_t>(budget / 128, size_t{1} << 20, size_t{8} << 20));
}

// Rows of a block of a matrix whose rows take `row_bytes` as floats.
inline size_t DiskBlockRows(uint64_t budget, size_t row_bytes) {
  return std::max(kLeastBlockRows, std::bit_floor(DiskBufferBytes(budget) / std::max(row_bytes, kLongRow)));
}

// Columns that are resident at a time when `cols` columns of `sources` rows are aggregated, with elements of
// `in_bytes` to elements of `out_bytes`: whole cache lines of what is read and of what is written. 0: not even those
// fit into `free_bytes`.
inline size_t PanelColumns(uint64_t free_bytes, uint64_t sources, size_t cols, size_t in_bytes,
                           size_t out_bytes) {
  const size_t unit = kPanelBytes / std::min(in_bytes, out_bytes);
  const uint64_t unit_bytes = std::max<uint64_t>(1, sources * unit * in_bytes);
  const auto room = static_cast<uint64_t>(kPanelShare * static_cast<double>(free_bytes));
  const size_t most = std::min(kPanelColumnsAtMost, (cols + unit - 1) / unit * unit);
  return static_cast<size_t>(std::min<uint64_t>(most, room / unit_bytes * unit));
}

// Bytes of the next panel that may be read while one of `panel_bytes` is in use, if `free_bytes` are free without it and
// results on their way to the disk take `result_bytes`. A panel is never made narrower for it: that would stream the
// graph more often.
inline size_t PanelBytesAhead(uint64_t free_bytes, uint64_t budget, uint64_t panel_bytes,
                              uint64_t result_bytes) {
  const auto room = static_cast<uint64_t>(kAheadShare * static_cast<double>(free_bytes));
  const uint64_t taken = panel_bytes + result_bytes + kDiskBuffers * DiskBufferBytes(budget);
  return std::min(panel_bytes, room - std::min(room, taken));
}

}  // namespace l2gcn
