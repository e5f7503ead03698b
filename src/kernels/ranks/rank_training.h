// A layer's training where each rank holds a share of the rows: rank 0 computes the steps.
#pragma once

#include <future>
#include <memory>
#include <vector>

#include "kernels/backend.h"
#include "kernels/ranks/rank_rows.h"
#include "ranks/shared_memory.h"

namespace l2gcn {

// Rows of a layer's samples, brought from the ranks that hold them to rank 0 window by window (core/sample_order.h): while
// one window is trained the next one travels. Rank 0 asks for windows, and the others answer; ranks that see one memory
// write their rows to where rank 0 reads them, and only say so.
class RankSampleWindows final : public SampleWindows {
 public:
  // `parts` are this rank's rows of the layer's input; sample s is row samples[s] of a matrix of `rows` rows (empty:
  // row s). `shared` is null where rows travel by messages.
  RankSampleWindows(Ranks& ranks, SharedPool* shared, const LayerSpec& spec, std::vector<RankRows> parts,
                    std::vector<size_t> cols, Array<uint32_t> samples, size_t rows);
  ~RankSampleWindows() override;

  // On rank 0: the ring of a part, (ring rows × its columns).
  Features Ring(size_t part) const;
  uint32_t samples() const override { return count_; }
  void Await(uint32_t epoch, uint32_t window) override;
  // On rank 0: nothing travels any more, and the other ranks stop answering.
  void Settle();
  // On the others: answers until rank 0 settles.
  void Serve();

 private:
  struct Request {
    int64_t window;  // counted over epochs; −1: no more
  };

  size_t RingRows() const { return size_t{kRingWindows} * window_; }

  // On rank 0: brings a window into the ring.
  void Fetch(uint64_t number);
  // Writes this rank's rows of a window to the ring.
  void WriteOwn(uint64_t number);
  // Sends this rank's rows of a window to rank 0, or takes another one's.
  void SendOwn(uint64_t number);
  void Receive(uint64_t number, uint32_t from);
  // The place in the ring of a part of row `row` of a window.
  char* PlaceOf(uint64_t number, size_t part, size_t row) const {
    return static_cast<char*>(rings_[part].get()) +
           (number % kRingWindows * window_ + row) * cols_[part] * parts_[part].bytes();
  }
  // The rows of a window that a rank holds: visit(row of the window, row of the rank's share).
  template <class Visit>
  void ForRows(uint64_t number, uint32_t rank, const Visit& visit) const;

  Ranks& ranks_;
  const bool in_place_;  // all ranks see the rings
  const LayerSpec spec_;
  const std::vector<RankRows> parts_;
  const std::vector<size_t> cols_;
  const Array<uint32_t> samples_;
  const size_t rows_;
  uint32_t count_, window_ = 0, windows_ = 0;
  size_t columns_ = 0;
  size_t sample_bytes_ = 0;  // of all parts
  std::vector<std::shared_ptr<void>> rings_;
  std::vector<uint64_t> held_;  // (kRingWindows) which window each place holds, counted over epochs, plus 1
  std::future<void> travelling_;
  uint64_t next_ = 0;
};

// The rows of a layer's samples on rank 0, in the order of the samples; nothing on the others. This rank's rows of a matrix
// of `shape` are `own`; sample s is row samples[s] of it (empty: row s). `shared` is null where rows travel by messages.
// Called by all ranks.
Features RowsOfSamples(const Context& context, SharedPool* shared, const RankRows& own,
                       const RankMatrixShape& shape, std::span<const uint32_t> samples);

// Threads for the steps that rank 0 makes while the other ranks of its machine wait for it: as many as all of them have,
// on any core that one of them may use. Results do not depend on threads. Null on ranks other than 0. Called by all.
std::shared_ptr<ThreadPool> ThreadsOfAllRanks(const Context& context);

class RankTraining final : public LayerTraining {
 public:
  // `own` computes the steps on rank 0; null on the others. `threads` are for it; null: those of the caller's context.
  // `columns` are those of each part of the layer's input.
  RankTraining(const std::shared_ptr<Ranks>& ranks, std::unique_ptr<LayerTraining> own,
               std::shared_ptr<RankSampleWindows> windows, std::shared_ptr<ThreadPool> threads,
               LayerSpec spec, std::vector<size_t> columns)
      : ranks_(ranks),
        own_(std::move(own)),
        windows_(std::move(windows)),
        threads_(std::move(threads)),
        spec_(std::move(spec)),
        columns_(std::move(columns)) {}

  void RunEpochs(const Context& context, uint32_t first, uint32_t count, std::span<double> losses,
                 std::vector<double>* step_losses) override;
  // On every rank: rank 0's.
  LayerState Read() const override;

  const LayerTraining* own() const { return own_.get(); }
  const LayerSpec& spec() const { return spec_; }
  const std::vector<size_t>& columns() const { return columns_; }

 private:
  const std::shared_ptr<Ranks> ranks_;
  std::unique_ptr<LayerTraining> own_;
  std::shared_ptr<RankSampleWindows> windows_;  // null: rank 0 has all rows
  const std::shared_ptr<ThreadPool> threads_;
  const LayerSpec spec_;
  const std::vector<size_t> columns_;
};

}  // namespace l2gcn
