// A layer's training by ranks that each hold a share of the rows: rank 0 makes the steps, or all ranks share them.
#pragma once

#include <future>
#include <memory>
#include <vector>

#include "kernels/backend.h"
#include "kernels/ranks/rank_rows.h"
#include "ranks/shared_memory.h"

namespace l2gcn {

// Who makes the steps of a layer: rank 0 alone, or all ranks together (kernels/ranks/rank_steps.h).
enum class StepMakers { kRank0, kAll };

// Rows of a layer's samples, brought from the ranks that hold them to those that train with them window by window
// (core/sample_order.h): while one window is trained the next one travels. Where rank 0 makes the steps it asks for
// windows, and the others answer; ranks that see one memory write their rows to where rank 0 reads them, and only say so.
// Where all ranks share the steps, each knows which window comes next, and gets the rows of its own samples alone.
class RankSampleWindows final : public SampleWindows {
 public:
  // `parts` are this rank's rows of the layer's input; sample s is row samples[s] of a matrix of `rows` rows (empty:
  // row s). `shared` is null where rows travel by messages.
  RankSampleWindows(Ranks& ranks, SharedPool* shared, const LayerSpec& spec, std::vector<RankRows> parts,
                    std::vector<size_t> cols, Array<uint32_t> samples, size_t rows, StepMakers makers);
  ~RankSampleWindows() override;

  // On ranks that make steps: the ring of a part, (ring rows × its columns).
  Features Ring(size_t part) const;
  uint32_t samples() const override { return count_; }
  void Await(uint32_t epoch, uint32_t window) override;
  // On ranks that make steps: nothing travels any more, and ranks that answer stop.
  void Settle();
  // On the others: answers until rank 0 settles.
  void Serve();

 private:
  struct Request {
    int64_t window;  // counted over epochs; −1: no more
  };

  size_t RingRows() const { return size_t{kRingWindows} * window_; }

  // On ranks that make steps: brings a window into the ring.
  void Fetch(uint64_t number);
  // The same where all ranks make them and fetch the same windows in the same order.
  void FetchWithAll(uint64_t number);
  // For each row of a window, which rank computes with it; no rank where the step is left out.
  std::vector<uint32_t> TakersOf(uint64_t number) const;
  // Takes rows of a window, by their places in it, out of a message.
  void Unpack(uint64_t number, std::span<const size_t> places, const char* message);
  // Adds a row of this rank's share to a message.
  void Pack(size_t row, std::vector<char>& message) const;
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
  const StepMakers makers_;
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

// The rows of a layer's samples on the ranks that make its steps, in the order of the samples; nothing on the others. This
// rank's rows of a matrix of `shape` are `own`; sample s is row samples[s] of it (empty: row s). `shared` is null where
// rows travel by messages; rank 0 alone makes steps where it is not. Called by all ranks.
Features RowsOfSamples(const Context& context, SharedPool* shared, const RankRows& own,
                       const RankMatrixShape& shape, std::span<const uint32_t> samples, StepMakers makers);

// Threads for the steps that rank 0 makes while the other ranks of its machine wait for it: as many as all of them have,
// on any core that one of them may use. Results do not depend on threads. Null on ranks other than 0. Called by all.
std::shared_ptr<ThreadPool> ThreadsOfAllRanks(const Context& context);

class RankTraining final : public LayerTraining {
 public:
  // `own` makes the steps; null on ranks that make none. `threads` are for it; null: those of the caller's context.
  // `columns` are those of each part of the layer's input.
  RankTraining(const std::shared_ptr<Ranks>& ranks, std::unique_ptr<LayerTraining> own,
               std::shared_ptr<RankSampleWindows> windows, std::shared_ptr<ThreadPool> threads,
               LayerSpec spec, std::vector<size_t> columns, StepMakers makers)
      : ranks_(ranks),
        makers_(makers),
        own_(std::move(own)),
        windows_(std::move(windows)),
        threads_(std::move(threads)),
        spec_(std::move(spec)),
        columns_(std::move(columns)) {}

  void RunEpochs(const Context& context, uint32_t first, uint32_t count, std::span<double> losses,
                 std::vector<double>* step_losses) override;
  // On every rank: rank 0's, which has the same bits on all ranks that make steps.
  LayerState Read() const override;
  StepSeconds Profile() const override { return own_ != nullptr ? own_->Profile() : StepSeconds{}; }

  const LayerTraining* own() const { return own_.get(); }
  // Every rank has weights of its own; else rank 0 alone.
  bool all_make_steps() const { return makers_ == StepMakers::kAll; }
  const LayerSpec& spec() const { return spec_; }
  const std::vector<size_t>& columns() const { return columns_; }

 private:
  const std::shared_ptr<Ranks> ranks_;
  const StepMakers makers_;
  std::unique_ptr<LayerTraining> own_;
  std::shared_ptr<RankSampleWindows> windows_;  // null: who makes steps has all rows
  const std::shared_ptr<ThreadPool> threads_;
  const LayerSpec spec_;
  const std::vector<size_t> columns_;
};

}  // namespace l2gcn
