#include "kernels/disk/panel_aggregation.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/clock.h"
#include "core/error_format.h"
#include "core/memory_meter.h"
#include "core/threads.h"
#include "kernels/disk/disk_layout.h"
#include "kernels/disk/graph_stream.h"
#include "kernels/disk/write_behind.h"

namespace l2gcn {
namespace {

// to (sources × stride) ← `count` columns of x and zeros, of rows `row_of_node` if that is not empty.
void ReadPanel(const Context& context, const DiskTensor& x, std::span<const uint32_t> row_of_node,
               size_t first, size_t count, size_t stride, char* to) {
  const size_t read_bytes = count * BytesOf(x.type), row_bytes = stride * BytesOf(x.type);
  L2GCN_ASSERT(std::is_sorted(row_of_node.begin(), row_of_node.end()));
  std::vector<DiskReading> readings(context.threads);
  std::vector<std::vector<char>> blocks(context.threads);
  ParallelTasks(context, x.blocks(), [&](size_t block, uint32_t worker) {
    context.CheckCancelled();
    const size_t begin = block * x.block_rows, end = begin + x.RowsOfBlock(block);
    if (row_of_node.empty() && count == stride)
      return x.Read(begin, end, first, count, readings[worker], to + begin * row_bytes);
    const auto from = std::lower_bound(row_of_node.begin(), row_of_node.end(), begin);
    const auto until = std::lower_bound(from, row_of_node.end(), end);
    if (!row_of_node.empty() && from == until) return;
    std::vector<char>& rows = blocks[worker];
    rows.resize((end - begin) * read_bytes);
    x.Read(begin, end, first, count, readings[worker], rows.data());
    const auto put = [&](size_t at, size_t row) {
      std::memcpy(to + at * row_bytes, rows.data() + (row - begin) * read_bytes, read_bytes);
      std::memset(to + at * row_bytes + read_bytes, 0, row_bytes - read_bytes);
    };
    if (row_of_node.empty()) {
      for (size_t row = begin; row < end; ++row) put(row, row);
    } else {
      for (auto at = from; at != until; ++at) put(static_cast<size_t>(at - row_of_node.begin()), *at);
    }
  });
}

Features Rectified(const Context& context, const Features& features) {
  Matrix matrix = features.matrix();
  float* const values = matrix.values.mutable_data();
  ParallelFor(context, matrix.values.size(), 1 << 16, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) values[i] = values[i] > 0 ? values[i] : 0;
  });
  return Features::Dense(std::move(matrix));
}

}  // namespace

size_t PanelAggregation::ColumnsAtATime(size_t sources, const DiskTensor& x, FeatureType out_type) const {
  const uint64_t free = disk_->Free();
  const size_t columns = PanelColumns(free, sources, x.cols, BytesOf(x.type), BytesOf(out_type));
  if (columns > 0) return columns;
  ThrowRuntime(
      "aggregating {} nodes needs {:.1f} MiB for the least panel of columns, and of the budget of {:.1f} "
      "MiB only {:.1f} are left; use a larger --memory",
      sources, static_cast<double>(sources * kPanelBytes) / kPanelShare / kMiB,
      static_cast<double>(disk_->budget()) / kMiB, static_cast<double>(free) / kMiB);
}

void PanelAggregation::Run(const Context& context, const Propagation& a, const DiskTensor& x,
                           std::span<const uint32_t> row_of_node, bool relu, FileTensor& out,
                           DiskProgress& progress) {
  Backend& kernels = relu ? *wide_ : *cpu_;
  const size_t sources = row_of_node.empty() ? x.rows : row_of_node.size();
  panel_columns_ = ColumnsAtATime(sources, x, out.type);
  panels_ = (x.cols + panel_columns_ - 1) / panel_columns_;
  const std::vector<size_t> cuts =
      GraphStream::Cut(context, *disk_, a, out.block_rows, DiskBufferBytes(disk_->budget()));
  // One block for all panels: the system clears fresh pages more slowly than the disk fills them.
  Array<char> panel = Array<char>::Allocate(sources * std::min(panel_columns_, x.cols) * BytesOf(x.type));
  for (size_t first = out.done(); first < x.cols; first += panel_columns_) {
    Stopwatch watch;
    const DiskUse before = disk_->Use();
    const size_t count = std::min(panel_columns_, x.cols - first);
    // A panel narrower than a vector would be summed by other instructions, and with other bits, than the same
    // columns beside others.
    const size_t stride = first > 0 ? std::max(count, kPad) : count;
    ReadPanel(context, x, row_of_node, first, count, stride, panel.mutable_data());
    const TensorPtr columns =
        kernels.Upload(context, RowsAsFeatures(x.type, nullptr, panel.data(), sources, stride));
    StreamPast(context, a, cuts, *columns, first, kernels, relu, out, progress);
    out.Mark(first + count);
    disk_->CountPanel(before, watch.Seconds());
  }
  kernels.ReleaseSpareMemory();
  ReturnFreeMemory();
}

// The graph streams past one panel, cut at rows `cuts`; results are written while the next rows are summed.
void PanelAggregation::StreamPast(const Context& context, const Propagation& a,
                                  const std::vector<size_t>& cuts, const Tensor& panel, size_t first,
                                  Backend& kernels, bool relu, FileTensor& out, DiskProgress& progress) {
  GraphStream stream(*disk_, a, cuts);
  WriteBehind writer(out);
  while (const Propagation* rows = stream.Next()) {
    progress.Tell(context);
    const DeviceGraphPtr part = kernels.Upload(context, *rows);
    Features result = kernels.DownloadStored(context, *kernels.Aggregate(context, *part, panel, {}));
    if (relu) {
      const Features rectified = Rectified(context, result);
      result = rectified.type() == out.type
                   ? rectified
                   : cpu_->DownloadStored(context, *cpu_->Upload(context, rectified));
    }
    writer.Put(rows->first_row - a.first_row, first, std::move(result));
  }
  writer.Finish();
}

std::string PanelAggregation::Explain() const {
  return fmt::format("from disk ({} panel{} of {} columns a pass)", panels_, panels_ == 1 ? "" : "s",
                     panel_columns_);
}

}  // namespace l2gcn
