#include "kernels/disk/disk_tensor.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/error_format.h"
#include "core/feature_rows.h"
#include "core/threads.h"
#include "l2gcn/context.h"

namespace l2gcn {
namespace {

// Rows that nobody wants are read over where a new request would take longer: one to a disk costs about as much as
// 128 KiB more of the same stretch, in every panel.
constexpr size_t kRowsReadOver = (size_t{128} << 10) / kPanelBytes;

// out (rows × count·width bytes apart `out_stride`) ← from, row by row.
void CopyColumns(const char* from, size_t from_stride, size_t rows, size_t bytes, char* out,
                 size_t out_stride) {
  for (size_t row = 0; row < rows; ++row)
    std::memcpy(out + row * out_stride, from + row * from_stride, bytes);
}

}  // namespace

Features RowsAsFeatures(FeatureType type, std::shared_ptr<const void> owner, const char* elements,
                        size_t rows, size_t cols) {
  if (type == FeatureType::kF32) {
    return Features::Dense(
        {Array<float>::Borrow(std::move(owner), reinterpret_cast<const float*>(elements), rows * cols), rows,
         cols});
  }
  return Features::Stored(
      type,
      Array<uint16_t>::Borrow(std::move(owner), reinterpret_cast<const uint16_t*>(elements), rows * cols),
      rows, cols);
}

const char* ElementsOf(const Features& features) {
  L2GCN_ASSERT(!features.stores_sparse() && features.preparation() == nullptr);
  return static_cast<const char*>(features.elements());
}

void DiskTensor::ReadRows(size_t begin, size_t end, DiskReading& reading, char* out) const {
  const size_t row_bytes = cols * BytesOf(type);
  while (begin < end) {
    const size_t block_end = std::min(end, (begin / block_rows + 1) * block_rows);
    Read(begin, block_end, 0, cols, reading, out);
    out += (block_end - begin) * row_bytes;
    begin = block_end;
  }
}

void DiskTensor::PickRows(const Context& context, std::span<const uint32_t> picked, char* out) const {
  const size_t row_bytes = cols * BytesOf(type);
  std::vector<uint32_t> order;
  if (!std::is_sorted(picked.begin(), picked.end())) {
    order.resize(picked.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return picked[a] < picked[b]; });
  }
  const auto position = [&](size_t i) { return order.empty() ? i : order[i]; };
  const auto row_at = [&](size_t i) { return size_t{picked[position(i)]}; };
  std::vector<size_t> ends;  // of the rows that are read together, among those picked in ascending order
  for (size_t i = 0; i < picked.size(); ++i) {
    const bool parts = i + 1 == picked.size() || row_at(i + 1) / block_rows != row_at(i) / block_rows ||
                       row_at(i + 1) > row_at(i) + kRowsReadOver;
    if (parts) ends.push_back(i + 1);
  }
  std::vector<DiskReading> readings(context.threads);
  std::vector<std::vector<char>> stretches(context.threads);
  ParallelTasks(context, ends.size(), [&](size_t at, uint32_t worker) {
    context.CheckCancelled();
    const size_t begin = at == 0 ? 0 : ends[at - 1], first = row_at(begin), end = row_at(ends[at] - 1) + 1;
    std::vector<char>& stretch = stretches[worker];
    stretch.resize((end - first) * row_bytes);
    Read(first, end, 0, cols, readings[worker], stretch.data());
    for (size_t i = begin; i < ends[at]; ++i)
      std::memcpy(out + position(i) * row_bytes, stretch.data() + (row_at(i) - first) * row_bytes, row_bytes);
  });
}

FileTensor::FileTensor(const DiskMemory& disk, size_t row_count, size_t col_count, FeatureType element,
                       size_t rows_a_block)
    : pages_(disk.NewPages()) {
  rows = row_count;
  cols = col_count;
  type = element;
  block_rows = rows_a_block;
  bytes = rows * cols * BytesOf(type);
  L2GCN_ASSERT(block_rows % kLeastBlockRows == 0);
}

void FileTensor::Write(size_t begin, size_t first, const Features& from, DiskBuffer& buffer) {
  const size_t width = BytesOf(type), columns = PanelColumns(), stride = from.cols();
  const size_t count = std::min(stride, cols - first);
  L2GCN_ASSERT(begin % block_rows == 0 && first % columns == 0 && from.type() == type);
  const char* elements = ElementsOf(from);
  const size_t panels = (count + columns - 1) / columns;
  for (size_t done = 0; done < from.rows(); done += block_rows) {
    const size_t rows_here = std::min(block_rows, from.rows() - done);
    char* const to = buffer.Reserve(panels * block_rows * kPanelBytes);
    for (size_t panel = 0; panel < panels; ++panel) {
      const size_t column = panel * columns, used = std::min(columns, count - column) * width;
      char* const at = to + panel * block_rows * kPanelBytes;
      if (used < kPanelBytes || rows_here < block_rows) std::memset(at, 0, block_rows * kPanelBytes);
      CopyColumns(elements + (done * stride + column) * width, stride * width, rows_here, used, at,
                  kPanelBytes);
    }
    pages_.Write(OffsetOf((begin + done) / block_rows, first / columns), to,
                 panels * block_rows * kPanelBytes);
  }
}

void FileTensor::Read(size_t begin, size_t end, size_t first, size_t count, DiskReading& reading,
                      char* out) const {
  const size_t width = BytesOf(type), columns = PanelColumns(), block = begin / block_rows;
  L2GCN_ASSERT(end <= rows && (end - 1) / block_rows == block && first + count <= cols);
  // One panel of a block, to where a page begins: the file has it as it is wanted.
  const bool as_it_lies = first % columns == 0 && count == columns && begin % block_rows == 0 &&
                          end - begin == block_rows &&
                          reinterpret_cast<uintptr_t>(out) % ScratchPages::kPage == 0;
  if (as_it_lies) return pages_.Read(OffsetOf(block, first / columns), block_rows * kPanelBytes, out);
  // Whole pages around the rows wanted: a page holds 64 rows of a panel.
  const size_t at_row = begin % block_rows;
  size_t page_row = at_row / kLeastBlockRows * kLeastBlockRows;
  size_t page_end = std::min(
      block_rows, (end - block * block_rows + kLeastBlockRows - 1) / kLeastBlockRows * kLeastBlockRows);
  // Most of a block is read as one stretch.
  if (2 * (page_end - page_row) > block_rows) page_row = 0, page_end = block_rows;
  const size_t first_panel = first / columns, last_panel = (first + count - 1) / columns;
  const bool whole = page_row == 0 && page_end == block_rows;
  const size_t piece = (page_end - page_row) * kPanelBytes;
  char* const raw = reading.raw.Reserve((last_panel - first_panel + 1) * piece);
  if (whole) {
    pages_.Read(OffsetOf(block, first_panel), (last_panel - first_panel + 1) * piece, raw);
  } else {
    for (size_t panel = first_panel; panel <= last_panel; ++panel)
      pages_.Read(OffsetOf(block, panel) + page_row * kPanelBytes, piece,
                  raw + (panel - first_panel) * piece);
  }
  for (size_t panel = first_panel; panel <= last_panel; ++panel) {
    const size_t from = std::max(first, panel * columns), to = std::min(first + count, (panel + 1) * columns);
    const char* source = raw + (panel - first_panel) * piece + (at_row - page_row) * kPanelBytes +
                         (from - panel * columns) * width;
    CopyColumns(source, kPanelBytes, end - begin, (to - from) * width, out + (from - first) * width,
                count * width);
  }
}

FeatureTensor::FeatureTensor(std::shared_ptr<DiskMemory> disk, Features features, FeatureType element,
                             size_t rows_a_block, std::shared_ptr<Backend> narrower)
    : disk_(std::move(disk)),
      features_(std::move(features)),
      as_stored_(!features_.stores_sparse() && features_.preparation() == nullptr &&
                 features_.type() == element),
      narrower_(std::move(narrower)) {
  rows = features_.rows();
  cols = features_.cols();
  type = element;
  block_rows = rows_a_block;
  bytes = rows * cols * BytesOf(type);
}

// reading.floats (end − begin × cols) ← the rows as floats.
void FeatureTensor::ReadPrepared(size_t begin, size_t end, DiskReading& reading) const {
  reading.floats.resize((end - begin) * cols);
  if (features_.stores_sparse()) return features_.ReadRows(begin, end - begin, reading.floats.data());
  ViewRows(disk_, features_, begin, end - begin, reading.raw).ReadRows(0, end - begin, reading.floats.data());
}

void FeatureTensor::Read(size_t begin, size_t end, size_t first, size_t count, DiskReading& reading,
                         char* out) const {
  const size_t width = BytesOf(type);
  if (as_stored_) {
    const char* raw = disk_->Fetch(static_cast<const char*>(features_.elements()) + begin * cols * width,
                                   (end - begin) * cols * width, reading.raw);
    return CopyColumns(raw + first * width, cols * width, end - begin, count * width, out, count * width);
  }
  ReadPrepared(begin, end, reading);
  const char* elements = reinterpret_cast<const char*>(reading.floats.data());
  Features narrow;
  if (type != FeatureType::kF32) {
    const Context alone = MakeContext(1);
    narrow = narrower_->DownloadStored(
        alone,
        *narrower_->Upload(alone, RowsAsFeatures(FeatureType::kF32, nullptr, elements, end - begin, cols)));
    elements = ElementsOf(narrow);
  }
  CopyColumns(elements + first * width, cols * width, end - begin, count * width, out, count * width);
}

}  // namespace l2gcn
