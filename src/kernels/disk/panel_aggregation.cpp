#include "kernels/disk/panel_aggregation.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "core/clock.h"
#include "core/error_format.h"
#include "core/memory_meter.h"
#include "core/paced_tasks.h"
#include "core/threads.h"
#include "kernels/disk/disk_layout.h"
#include "kernels/disk/graph_stream.h"
#include "kernels/disk/write_behind.h"

namespace l2gcn {
namespace {

constexpr size_t kPanelReadersAhead = 2;  // threads that read the next panel: two requests keep a disk busy
constexpr size_t kPanelReaders =
    4;  // that read one which is waited for: some wait for the disk while others copy or write

// From this budget on a panel's pages stay between aggregations, and those of the first are asked for ahead of it. Below it
// asking for them takes no time, and what else is allocated in between would be felt.
constexpr uint64_t kBudgetToKeepPages = uint64_t{1} << 30;

constexpr double kExpectedShare =
    0.8;  // of the free memory that is asked for so early: more will be allocated

// Under a small budget the buffers of more readers would be felt.
constexpr uint64_t kBudgetOfAllReaders = uint64_t{256} << 20;
size_t ReadersWithin(uint64_t budget) {
  return budget < kBudgetOfAllReaders ? kPanelReadersAhead : kPanelReaders;
}

// A panel to be read: its columns, and memory for (sources × stride) elements.
struct PanelPlace {
  PanelCut cut;
  char* to;
};

// Reads panels of columns of one matrix, one after another from left to right, each to memory of (sources × stride)
// elements: the rows `row_of_node`, or all where that is empty. Blocks of rows at the beginning of a panel may be read
// while the one before is in use.
//
// Where a few columns take as long to read as whole rows, blocks at the beginning of the next panel come along with the
// first one. If more than two panels are still to come, all else that comes after the first is written to scratch files,
// from which the other panels are read: K·X bytes become less than 3·X.
class PanelReader {
 public:
  PanelReader(const Context& context, const DiskMemory& disk, const DiskTensor& x,
              std::span<const uint32_t> row_of_node, size_t panel_columns)
      : context_(context),
        disk_(disk),
        x_(x),
        row_of_node_(row_of_node),
        panel_columns_(panel_columns),
        buffers_(std::max<size_t>(ReadersWithin(disk.budget()), context.threads)) {
    L2GCN_ASSERT(std::is_sorted(row_of_node.begin(), row_of_node.end()));
  }

  // The panel's columns, and zeros up to the stride, but for the rows of the first `from_block` blocks. Returns whether
  // the first `blocks_along` blocks of `next` came along.
  bool Read(const PanelPlace& panel, size_t from_block, const PanelPlace& next, size_t blocks_along) {
    const bool by_rows = rest_ == nullptr && x_.ReadsWholeRows() && from_block == 0;
    const bool along = by_rows && blocks_along > 0;
    const bool splits = by_rows && x_.cols > panel.cut.first + kPanelsReadTwice * panel_columns_;
    if (splits) {
      const size_t after = panel.cut.first + panel.cut.count;
      rest_first_ = along ? after + next.cut.count : after;
      rest_ = NewRest(0, x_.cols - rest_first_);
      if (along && blocks_along < x_.blocks()) {
        next_first_ = after;
        next_block_ = blocks_along;
        rest_of_next_ = NewRest(blocks_along, next.cut.count);
      }
    }
    PacedTasks reading(x_.blocks() - from_block, buffers_.size(), [&](size_t task, size_t worker) {
      context_.CheckCancelled();
      const size_t block = from_block + task;
      if (by_rows) {
        ReadBlockByRows(block, panel, along && block < blocks_along ? &next : nullptr, splits,
                        buffers_[worker]);
      } else {
        ReadBlock(block, panel, buffers_[worker]);
      }
    });
    reading.Finish();
    return along;
  }

  // Blocks whose rows all lie in the first `bytes` of a panel.
  size_t BlocksWithin(size_t bytes, const PanelCut& panel) const {
    const size_t places = bytes / (panel.stride * BytesOf(x_.type));
    if (places >= (row_of_node_.empty() ? x_.rows : row_of_node_.size())) return x_.blocks();
    return (row_of_node_.empty() ? places : row_of_node_[places]) / x_.block_rows;
  }
  // The first `blocks` blocks of a panel that is not the first to be read, in the background.
  std::unique_ptr<PacedTasks> ReadAhead(const PanelPlace& panel, size_t blocks) {
    return std::make_unique<PacedTasks>(blocks, kPanelReadersAhead,
                                        [this, panel](size_t block, size_t worker) {
                                          context_.CheckCancelled();
                                          ReadBlock(block, panel, buffers_[worker]);
                                        });
  }

 private:
  static constexpr size_t kPanelsReadTwice =
      2;  // so many are read with whole rows rather than written and read

  struct Buffers {
    DiskReading reading;
    DiskBuffer writing;
    std::vector<char> rows;
  };

  // For columns of the blocks from `first_block` on.
  std::unique_ptr<FileTensor> NewRest(size_t first_block, size_t columns) const {
    const size_t rows = x_.rows - first_block * x_.block_rows;
    return std::make_unique<FileTensor>(disk_, rows, columns, x_.type, x_.block_rows);
  }

  // `count` columns of rows begin … end − 1, all of one block, from where they lie.
  void ReadColumns(size_t begin, size_t end, size_t first, size_t count, DiskReading& reading, char* to) {
    if (rest_ != nullptr && first >= rest_first_)
      return rest_->Read(begin, end, first - rest_first_, count, reading, to);
    const size_t before = next_block_ * x_.block_rows;
    if (rest_of_next_ != nullptr && first >= next_first_ && begin >= before)
      return rest_of_next_->Read(begin - before, end - before, first - next_first_, count, reading, to);
    x_.Read(begin, end, first, count, reading, to);
  }

  void ReadBlock(size_t block, const PanelPlace& panel, Buffers& buffers) {
    const size_t begin = block * x_.block_rows, end = begin + x_.RowsOfBlock(block);
    const size_t width = BytesOf(x_.type), row_bytes = panel.cut.stride * width;
    const auto& [first, count, stride] = panel.cut;
    if (row_of_node_.empty() && count == stride)
      return ReadColumns(begin, end, first, count, buffers.reading, panel.to + begin * row_bytes);
    if (!IsWanted(begin, end)) return;
    buffers.rows.resize((end - begin) * count * width);
    ReadColumns(begin, end, first, count, buffers.reading, buffers.rows.data());
    Put(begin, end, buffers.rows.data(), count, panel);
  }

  // The columns from the panel's first one on: its own, those of `next` if that is not null, and if it splits all others
  // to scratch.
  void ReadBlockByRows(size_t block, const PanelPlace& panel, const PanelPlace* next, bool splits,
                       Buffers& buffers) {
    const size_t begin = block * x_.block_rows, end = begin + x_.RowsOfBlock(block);
    if (!splits && next == nullptr) return ReadBlock(block, panel, buffers);
    if (!IsWanted(begin, end)) return;
    const size_t first = panel.cut.first, width = BytesOf(x_.type);
    const size_t read = splits ? x_.cols - first : panel.cut.count + next->cut.count;
    const size_t before_rest = splits ? rest_first_ - first : 0;
    buffers.rows.resize(((end - begin) * read + before_rest) * width);
    const char* const rows = buffers.rows.data();
    x_.Read(begin, end, first, read, buffers.reading, buffers.rows.data());
    Put(begin, end, rows, read, panel);
    const auto from = [&](size_t column) {  // rows that begin there
      return RowsAsFeatures(x_.type, nullptr, rows + column * width, end - begin, read);
    };
    if (splits) rest_->Write(begin, 0, from(before_rest), buffers.writing);
    if (next != nullptr) {
      Put(begin, end, rows + panel.cut.count * width, read, *next);
    } else if (rest_of_next_ != nullptr) {
      rest_of_next_->Write(begin - next_block_ * x_.block_rows, 0, from(panel.cut.count), buffers.writing);
    }
  }

  bool IsWanted(size_t begin, size_t end) const {
    if (row_of_node_.empty()) return true;
    const auto from = std::lower_bound(row_of_node_.begin(), row_of_node_.end(), begin);
    return from != row_of_node_.end() && *from < end;
  }

  // Rows begin … end − 1, which lie at `from` with `stride` elements each, to their places in a panel.
  void Put(size_t begin, size_t end, const char* from, size_t stride, const PanelPlace& panel) const {
    const size_t width = BytesOf(x_.type), used = panel.cut.count * width;
    const size_t row_bytes = panel.cut.stride * width;
    const auto put = [&](size_t at, size_t row) {
      std::memcpy(panel.to + at * row_bytes, from + (row - begin) * stride * width, used);
      std::memset(panel.to + at * row_bytes + used, 0, row_bytes - used);
    };
    if (row_of_node_.empty()) {
      for (size_t row = begin; row < end; ++row) put(row, row);
      return;
    }
    const auto first = std::lower_bound(row_of_node_.begin(), row_of_node_.end(), begin);
    for (auto at = first; at != row_of_node_.end() && *at < end; ++at)
      put(static_cast<size_t>(at - row_of_node_.begin()), *at);
  }

  const Context& context_;
  const DiskMemory& disk_;
  const DiskTensor& x_;
  const std::span<const uint32_t> row_of_node_;
  const size_t panel_columns_;
  std::vector<Buffers> buffers_;
  // Scratch files are written without holes: freeing one that has many takes seconds.
  std::unique_ptr<FileTensor> rest_;  // columns from rest_first_ on
  size_t rest_first_ = 0;
  std::unique_ptr<FileTensor>
      rest_of_next_;  // columns next_first_ … rest_first_ − 1 of the blocks from next_block_ on
  size_t next_first_ = 0, next_block_ = 0;
};

Features Rectified(const Context& context, const Features& features) {
  Matrix matrix = features.matrix();
  float* const values = matrix.values.mutable_data();
  ParallelFor(context, matrix.values.size(), 1 << 16, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) values[i] = values[i] <= 0 ? 0 : values[i];
  });
  return Features::Dense(std::move(matrix));
}

}  // namespace

size_t PanelAggregation::ColumnsAtATime(size_t sources, const DiskTensor& x, FeatureType out_type) const {
  const uint64_t free = Free();
  const size_t columns = PanelColumns(free, sources, x.cols, BytesOf(x.type), BytesOf(out_type));
  if (columns > 0) return columns;
  ThrowRuntime(
      "aggregating {} nodes needs {:.1f} MiB for the least panel of columns, and of the budget of {:.1f} "
      "MiB only {:.1f} are left; use a larger --memory",
      sources, static_cast<double>(sources * kPanelBytes) / kPanelShare / kMiB,
      static_cast<double>(disk_->budget()) / kMiB, static_cast<double>(free) / kMiB);
}

PanelMemory& PanelAggregation::Memory() {
  if (memory_ == nullptr) {
    memory_ = std::make_unique<PanelMemory>(
        static_cast<size_t>(kPanelShare * static_cast<double>(disk_->budget())));
  }
  return *memory_;
}

void PanelAggregation::Expect(const DiskTensor& x) {
  if (disk_->budget() < kBudgetToKeepPages || memory_ != nullptr) return;
  const size_t width = BytesOf(x.type), columns = PanelColumns(Free(), x.rows, x.cols, width, width);
  const size_t panel_bytes = x.rows * std::min(columns, x.cols) * width;
  const auto room = static_cast<size_t>(kExpectedShare * static_cast<double>(Free()));
  const size_t ahead = columns < x.cols ? std::min(panel_bytes, room - std::min(room, panel_bytes)) : 0;
  Memory().FillInBackground(panel_bytes, ahead);
}

void PanelAggregation::LeaveFree(uint64_t bytes) {
  if (memory_ != nullptr && disk_->Free() < bytes) memory_.reset();
}

void PanelAggregation::Run(const Context& context, const Propagation& a, const DiskTensor& x,
                           std::span<const uint32_t> row_of_node, bool relu, FileTensor& out,
                           DiskProgress& progress) {
  Backend& kernels = relu ? *wide_ : *cpu_;
  const size_t sources = row_of_node.empty() ? x.rows : row_of_node.size();
  ReturnFreeMemory();  // buffers of what was done before
  PanelMemory& memory = Memory();
  memory.StopFilling();
  panel_columns_ = ColumnsAtATime(sources, x, out.type);
  panels_ = (x.cols + panel_columns_ - 1) / panel_columns_;
  const std::vector<size_t> cuts =
      GraphStream::Cut(context, *disk_, a, out.block_rows, DiskBufferBytes(disk_->budget()));
  const size_t panel_bytes = sources * std::min(panel_columns_, x.cols) * BytesOf(x.type);
  memory.Shape(panel_bytes, AheadBytes(panel_bytes, cuts, out));
  share_ahead_ = std::min(1.0, static_cast<double>(memory.ahead()) / static_cast<double>(panel_bytes));
  PanelReader reader(context, *disk_, x, row_of_node, panel_columns_);
  size_t there = 0;  // blocks of the panel that were read ahead
  for (size_t first = 0; first < x.cols; first += panel_columns_) {
    Stopwatch watch;
    const DiskUse before = disk_->Use();
    const PanelPlace panel = {PanelAt(first, x.cols), memory.now()};
    const bool more = memory.ahead() > 0 && first + panel_columns_ < x.cols;
    const PanelPlace next = {PanelAt(more ? first + panel_columns_ : first, x.cols), memory.next()};
    const size_t blocks_ahead = more ? reader.BlocksWithin(memory.ahead(), next.cut) : 0;
    const bool came_along = reader.Read(panel, there, next, blocks_ahead);
    const TensorPtr columns =
        kernels.Upload(context, RowsAsFeatures(x.type, nullptr, memory.now(), sources, panel.cut.stride));
    there = blocks_ahead;
    std::unique_ptr<PacedTasks> ahead;
    if (more && !came_along) ahead = reader.ReadAhead(next, blocks_ahead);
    const Pass pass = {a, cuts, *columns, first, kernels, relu};
    StreamPast(context, pass, there, ahead.get(), out, progress);
    memory.Turn();
    disk_->CountPanel(before, watch.Seconds());
  }
  if (disk_->budget() >= kBudgetToKeepPages) {
    memory.Shape(panel_bytes, 0);
  } else {
    memory_.reset();
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
  return PanelBytesAhead(Free(), disk_->budget(), panel_bytes, results);
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
    progress.Report(context);
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
