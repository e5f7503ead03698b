#include "kernels/disk/panel_aggregation.h"

#include <algorithm>
#include <cstring>
#include <memory>
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

// Reads panels of columns of one matrix, one after another from left to right, each to memory of (sources × stride)
// elements: the rows `row_of_node`, or all where that is empty.
//
// Where a few columns take as long to read as whole rows, and more than two panels are still to come, the first one to be
// read has the columns after it written to a scratch file, from which the others come: K·X bytes become less than 3·X.
class PanelReader {
 public:
  PanelReader(const Context& context, const DiskMemory& disk, const DiskTensor& x,
              std::span<const uint32_t> row_of_node, size_t panel_columns)
      : context_(context),
        disk_(disk),
        x_(x),
        row_of_node_(row_of_node),
        panel_columns_(panel_columns),
        buffers_(context.threads) {
    L2GCN_ASSERT(std::is_sorted(row_of_node.begin(), row_of_node.end()));
  }

  // Columns first … first + count − 1, and zeros up to the stride.
  void Read(size_t first, size_t count, size_t stride, char* to) {
    const bool splits =
        rest_ == nullptr && x_.ReadsWholeRows() && x_.cols > first + kPanelsReadTwice * panel_columns_;
    if (splits) {
      rest_first_ = first + count;
      rest_ = std::make_unique<FileTensor>(disk_, x_.rows, x_.cols - rest_first_, x_.type, x_.block_rows);
    }
    const bool from_rest = rest_ != nullptr && first >= rest_first_;
    const Columns columns = {from_rest ? *rest_ : x_, from_rest ? first - rest_first_ : first, count, stride};
    ParallelTasks(context_, x_.blocks(), [&](size_t block, uint32_t worker) {
      context_.CheckCancelled();
      ReadBlock(block, columns, splits, buffers_[worker], to);
    });
  }

 private:
  static constexpr size_t kPanelsReadTwice =
      2;  // so many are read with whole rows rather than written and read

  struct Columns {
    const DiskTensor& from;
    size_t first, count, stride;
  };
  struct Buffers {
    DiskReading reading;
    DiskBuffer writing;
    std::vector<char> rows;
  };

  void ReadBlock(size_t block, const Columns& columns, bool splits, Buffers& buffers, char* to) {
    const size_t begin = block * x_.block_rows, end = begin + x_.RowsOfBlock(block);
    const size_t width = BytesOf(x_.type), row_bytes = columns.stride * width;
    if (!splits && row_of_node_.empty() && columns.count == columns.stride)
      return columns.from.Read(begin, end, columns.first, columns.count, buffers.reading,
                               to + begin * row_bytes);
    const auto from = std::lower_bound(row_of_node_.begin(), row_of_node_.end(), begin);
    const auto until = std::lower_bound(from, row_of_node_.end(), end);
    if (!row_of_node_.empty() && from == until) return;
    const size_t used = columns.count * width, read = splits ? x_.cols - columns.first : columns.count;
    buffers.rows.resize((end - begin) * read * width + used);
    columns.from.Read(begin, end, columns.first, read, buffers.reading, buffers.rows.data());
    const auto put = [&](size_t at, size_t row) {
      std::memcpy(to + at * row_bytes, buffers.rows.data() + (row - begin) * read * width, used);
      std::memset(to + at * row_bytes + used, 0, row_bytes - used);
    };
    if (row_of_node_.empty()) {
      for (size_t row = begin; row < end; ++row) put(row, row);
    } else {
      for (auto at = from; at != until; ++at) put(static_cast<size_t>(at - row_of_node_.begin()), *at);
    }
    // Rows that begin after this panel's columns.
    if (splits)
      rest_->Write(begin, 0, RowsAsFeatures(x_.type, nullptr, buffers.rows.data() + used, end - begin, read),
                   buffers.writing);
  }

  const Context& context_;
  const DiskMemory& disk_;
  const DiskTensor& x_;
  const std::span<const uint32_t> row_of_node_;
  const size_t panel_columns_;
  std::vector<Buffers> buffers_;
  std::unique_ptr<FileTensor> rest_;  // columns from rest_first_ on
  size_t rest_first_ = 0;
};

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
  PanelReader reader(context, *disk_, x, row_of_node, panel_columns_);
  for (size_t first = out.done(); first < x.cols; first += panel_columns_) {
    Stopwatch watch;
    const DiskUse before = disk_->Use();
    const size_t count = std::min(panel_columns_, x.cols - first);
    // A panel narrower than a vector would be summed by other instructions, and with other bits, than the same
    // columns beside others.
    const size_t stride = first > 0 ? std::max(count, kPad) : count;
    reader.Read(first, count, stride, panel.mutable_data());
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
