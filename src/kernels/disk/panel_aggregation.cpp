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
#include "kernels/disk/paced_tasks.h"
#include "kernels/disk/panel_memory.h"
#include "kernels/disk/write_behind.h"

namespace l2gcn {
namespace {

constexpr size_t kReadersAhead = 2;  // threads that read the next panel: two requests keep a disk busy

// Reads panels of columns of one matrix, one after another from left to right, each to memory of (sources × stride)
// elements: the rows `row_of_node`, or all where that is empty. Blocks of rows at the beginning of a panel may be read
// while the one before is in use.
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
        buffers_(context.threads),
        buffers_ahead_(kReadersAhead) {
    L2GCN_ASSERT(std::is_sorted(row_of_node.begin(), row_of_node.end()));
  }

  // The panel's columns, and zeros up to the stride, but for the rows of the first `from_block` blocks.
  void Read(const PanelCut& panel, size_t from_block, char* to) {
    const bool splits =
        rest_ == nullptr && x_.ReadsWholeRows() && x_.cols > panel.first + kPanelsReadTwice * panel_columns_;
    if (splits) {
      L2GCN_ASSERT(from_block == 0);
      rest_first_ = panel.first + panel.count;
      rest_ = std::make_unique<FileTensor>(disk_, x_.rows, x_.cols - rest_first_, x_.type, x_.block_rows);
    }
    const Columns columns = ColumnsOf(panel);
    ParallelTasks(context_, x_.blocks() - from_block, [&](size_t block, uint32_t worker) {
      context_.CheckCancelled();
      ReadBlock(from_block + block, columns, splits, buffers_[worker], to);
    });
  }

  // Blocks whose rows all lie in the first `bytes` of a panel.
  size_t BlocksWithin(size_t bytes, const PanelCut& panel) const {
    const size_t places = bytes / (panel.stride * BytesOf(x_.type));
    if (places >= (row_of_node_.empty() ? x_.rows : row_of_node_.size())) return x_.blocks();
    return (row_of_node_.empty() ? places : row_of_node_[places]) / x_.block_rows;
  }
  // The first `blocks` blocks of a panel that is not the first to be read, in the background.
  std::unique_ptr<PacedTasks> ReadAhead(const PanelCut& panel, size_t blocks, char* to) {
    return std::make_unique<PacedTasks>(blocks, kReadersAhead,
                                        [this, columns = ColumnsOf(panel), to](size_t block, size_t worker) {
                                          context_.CheckCancelled();
                                          ReadBlock(block, columns, false, buffers_ahead_[worker], to);
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

  // Where the panel's columns lie.
  Columns ColumnsOf(const PanelCut& panel) const {
    const bool from_rest = rest_ != nullptr && panel.first >= rest_first_;
    return {from_rest ? *rest_ : x_, from_rest ? panel.first - rest_first_ : panel.first, panel.count,
            panel.stride};
  }

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
  std::vector<Buffers> buffers_, buffers_ahead_;
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
  const size_t panel_bytes = sources * std::min(panel_columns_, x.cols) * BytesOf(x.type);
  PanelMemory memory(panel_bytes, AheadBytes(panel_bytes, cuts, out));
  share_ahead_ = std::min(1.0, static_cast<double>(memory.ahead()) / static_cast<double>(panel_bytes));
  PanelReader reader(context, *disk_, x, row_of_node, panel_columns_);
  size_t there = 0;  // blocks of the panel that were read ahead
  for (size_t first = out.done(); first < x.cols; first += panel_columns_) {
    Stopwatch watch;
    const DiskUse before = disk_->Use();
    const PanelCut panel = PanelAt(first, x.cols);
    reader.Read(panel, there, memory.now());
    const TensorPtr columns =
        kernels.Upload(context, RowsAsFeatures(x.type, nullptr, memory.now(), sources, panel.stride));
    std::unique_ptr<PacedTasks> ahead;
    if (memory.ahead() > 0 && first + panel_columns_ < x.cols) {
      const PanelCut next = PanelAt(first + panel_columns_, x.cols);
      there = reader.BlocksWithin(memory.ahead(), next);
      ahead = reader.ReadAhead(next, there, memory.next());
    }
    const Pass pass = {a, cuts, *columns, first, kernels, relu};
    StreamPast(context, pass, there, ahead.get(), out, progress);
    out.Mark(first + panel.count);
    memory.Turn();
    disk_->CountPanel(before, watch.Seconds());
  }
  kernels.ReleaseSpareMemory();
  ReturnFreeMemory();
}

// What of the next panel may lie beside the one in use: the memory that is free, but for buffers, results on their way
// to the disk, and a share for what is not foreseen.
size_t PanelAggregation::AheadBytes(size_t panel_bytes, const std::vector<size_t>& cuts,
                                    const FileTensor& out) const {
  constexpr size_t kResults = 4;
  size_t most_rows = 0;
  for (size_t i = 0; i < cuts.size(); ++i)
    most_rows = std::max(most_rows, cuts[i] - (i == 0 ? 0 : cuts[i - 1]));
  const size_t results = kResults * most_rows * std::min(panel_columns_, out.cols) * sizeof(float);
  return PanelBytesAhead(disk_->Free(), disk_->budget(), panel_bytes, results);
}

PanelCut PanelAggregation::PanelAt(size_t first, size_t cols) const {
  const size_t count = std::min(panel_columns_, cols - first);
  // A panel narrower than a vector would be summed by other instructions, and with other bits, than the same columns
  // beside others.
  return {first, count, first > 0 ? std::max(count, kPad) : count};
}

// The graph streams past one panel; results are written, and `tasks` tasks that read the next panel are done, while rows
// are summed.
void PanelAggregation::StreamPast(const Context& context, const Pass& pass, size_t tasks, PacedTasks* ahead,
                                  FileTensor& out, DiskProgress& progress) {
  GraphStream stream(*disk_, pass.a, pass.cuts);
  WriteBehind writer(out);
  size_t done = 0;
  while (const Propagation* rows = stream.Next()) {
    progress.Tell(context);
    if (ahead != nullptr) ahead->Allow((++done * tasks + pass.cuts.size() - 1) / pass.cuts.size());
    const DeviceGraphPtr part = pass.kernels.Upload(context, *rows);
    Features result =
        pass.kernels.DownloadStored(context, *pass.kernels.Aggregate(context, *part, pass.panel, {}));
    if (pass.relu) {
      const Features rectified = Rectified(context, result);
      result = rectified.type() == out.type
                   ? rectified
                   : cpu_->DownloadStored(context, *cpu_->Upload(context, rectified));
    }
    writer.Put(rows->first_row - pass.a.first_row, pass.first, std::move(result));
  }
  writer.Finish();
  if (ahead != nullptr) ahead->Finish();
}

std::string PanelAggregation::Explain() const {
  const std::string ahead =
      panels_ > 1 ? fmt::format(", {:.0f} % of the next one read ahead", 100 * share_ahead_) : "";
  return fmt::format("from disk ({} panel{} of {} columns a pass{})", panels_, panels_ == 1 ? "" : "s",
                     panel_columns_, ahead);
}

}  // namespace l2gcn
