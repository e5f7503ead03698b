// Â X from disk: panel by panel of X's columns. A panel lies in memory, the rows of Â stream past it, and the panel of
// the result is written while the next rows are summed. Meanwhile as much of the next panel is read as there is memory
// for, at the pace of the stream, so that disk and cores are busy at the same time. A row's sum keeps its order, so the
// bits are those of the aggregation in memory.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/disk_memory.h"
#include "core/propagation.h"
#include "kernels/backend.h"
#include "kernels/disk/disk_progress.h"
#include "kernels/disk/disk_tensor.h"
#include "kernels/disk/panel_memory.h"

namespace l2gcn {

class PacedTasks;

// Columns first … first + count − 1, in memory at rows of `stride` elements.
struct PanelCut {
  size_t first, count, stride;
};

class PanelAggregation {
 public:
  // `cpu` has results in the type of activations, `wide` in f32.
  PanelAggregation(std::shared_ptr<DiskMemory> disk, std::shared_ptr<Backend> cpu,
                   std::shared_ptr<Backend> wide)
      : disk_(std::move(disk)), cpu_(std::move(cpu)), wide_(std::move(wide)) {}

  // Writes all panels of `out`. The operator's nodes are rows `row_of_node` of x; empty: node i
  // is row i. With `relu`, out is ReLU of the sums, which are f32 until they are written.
  void Run(const Context& context, const Propagation& a, const DiskTensor& x,
           std::span<const uint32_t> row_of_node, bool relu, FileTensor& out, DiskProgress& progress);
  // An aggregation of x will come: memory for its first panel is asked for in the background.
  void Expect(const DiskTensor& x);
  // Memory that waits for the next run is given back where less than `bytes` would be free beside it.
  void LeaveFree(uint64_t bytes);
  // The panels of the last run, in words.
  std::string Explain() const;

 private:
  // What a run may take, the memory that waits for it included.
  uint64_t Free() const { return disk_->Free() + (memory_ != nullptr ? memory_->held() : 0); }
  PanelMemory& Memory();
  size_t ColumnsAtATime(size_t sources, const DiskTensor& x, FeatureType out_type) const;
  size_t AheadBytes(size_t panel_bytes, const std::vector<size_t>& cuts, const FileTensor& out) const;
  PanelCut PanelAt(size_t first, size_t cols) const;
  // One pass over the operator, cut at rows `cuts`, with the panel that begins at column `first`.
  struct Pass {
    const Propagation& a;
    const std::vector<size_t>& cuts;
    const Tensor& panel;
    size_t first;
    Backend& kernels;
    bool relu;
  };
  void StreamPast(const Context& context, const Pass& pass, size_t tasks, PacedTasks* ahead, FileTensor& out,
                  DiskProgress& progress);

  const std::shared_ptr<DiskMemory> disk_;
  const std::shared_ptr<Backend> cpu_, wide_;
  std::unique_ptr<PanelMemory> memory_;  // null where none waits
  size_t panels_ = 0, panel_columns_ = 0;
  double share_ahead_ = 0;
};

}  // namespace l2gcn
