#include "kernels/ranks/rank_training.h"

#include <sched.h>

#include <cstring>

#include "core/error_format.h"
#include "core/threads.h"
#include "kernels/disk/disk_tensor.h"
#include "ranks/collectives.h"

namespace l2gcn {
namespace {

constexpr size_t kRowsCopied = 1024;  // that one thread copies at a time

template <class T>
std::span<char> BytesIn(std::span<T> values) {
  return {reinterpret_cast<char*>(values.data()), values.size_bytes()};
}

// Rank 0's matrix to all.
void BroadcastMatrix(Ranks& ranks, Matrix& matrix) {
  uint64_t shape[] = {matrix.rows, matrix.cols};
  Broadcast(ranks, BytesIn(std::span<uint64_t>(shape)));
  if (!ranks.leads()) matrix = Matrix::Allocate(shape[0], shape[1]);
  if (shape[0] * shape[1] > 0)
    Broadcast(ranks,
              {const_cast<char*>(reinterpret_cast<const char*>(matrix.values.data())), matrix.bytes()});
}

}  // namespace

RankSampleWindows::RankSampleWindows(Ranks& ranks, SharedPool* shared, const LayerSpec& spec,
                                     std::vector<RankRows> parts, std::vector<size_t> cols,
                                     Array<uint32_t> samples, size_t rows)
    : ranks_(ranks),
      in_place_(shared != nullptr),
      spec_(spec),
      parts_(std::move(parts)),
      cols_(std::move(cols)),
      samples_(std::move(samples)),
      rows_(rows),
      count_(static_cast<uint32_t>(samples_.empty() ? rows : samples_.size())),
      held_(kRingWindows, 0) {
  for (size_t p = 0; p < parts_.size(); ++p) {
    columns_ += cols_[p];
    sample_bytes_ += cols_[p] * parts_[p].bytes();
  }
  const EpochOrder order = OrderOf(spec_, count_, columns_, 0);
  L2GCN_ASSERT(order.block > 0);
  window_ = order.window;
  windows_ = order.windows();
  const bool has_ring = in_place_ || ranks_.leads();
  for (size_t p = 0; has_ring && p < parts_.size(); ++p) {
    const size_t bytes = RingRows() * cols_[p] * parts_[p].bytes();
    rings_.push_back(in_place_ ? shared->Take(bytes) : AllocateAligned(bytes));
  }
}

Features RankSampleWindows::Ring(size_t part) const {
  return RowsAsFeatures(parts_[part].type(), rings_[part], static_cast<const char*>(rings_[part].get()),
                        RingRows(), cols_[part]);
}

RankSampleWindows::~RankSampleWindows() {
  if (travelling_.valid()) travelling_.wait();
}

template <class Visit>
void RankSampleWindows::ForRows(uint64_t number, uint32_t rank, const Visit& visit) const {
  const auto epoch = static_cast<uint32_t>(number / windows_),
             window = static_cast<uint32_t>(number % windows_);
  const EpochOrder order = OrderOf(spec_, count_, columns_, epoch);
  const size_t begin = ShareBegin(rows_, rank, ranks_.size()),
               end = ShareBegin(rows_, rank + 1, ranks_.size());
  for (uint32_t at = 0; at < order.SizeOf(window);) {
    const EpochOrder::Run run = order.RunAt(window, at);
    for (uint32_t i = 0; i < run.count; ++i) {
      const size_t row = samples_.empty() ? run.sample + i : samples_[run.sample + i];
      if (row >= begin && row < end) visit(at + i, row - begin);
    }
    at += run.count;
  }
}

void RankSampleWindows::WriteOwn(uint64_t number) {
  ForRows(number, ranks_.rank(), [&](size_t at, size_t row) {
    for (size_t p = 0; p < parts_.size(); ++p) parts_[p].Copy(row, 0, cols_[p], PlaceOf(number, p, at));
  });
}

// By any one thread at a time.
void RankSampleWindows::Fetch(uint64_t number) {
  Request request{static_cast<int64_t>(number)};
  for (uint32_t r = 1; r < ranks_.size(); ++r)
    ranks_.Exchange(r, {reinterpret_cast<const char*>(&request), sizeof(request)}, 0, {});
  WriteOwn(number);
  for (uint32_t r = 1; r < ranks_.size(); ++r) {
    char written = 0;
    if (in_place_) {
      ranks_.Exchange(0, {}, r, {&written, 1});
    } else {
      Receive(number, r);
    }
  }
  held_[number % kRingWindows] = number + 1;
}

void RankSampleWindows::Receive(uint64_t number, uint32_t from) {
  std::vector<size_t> places;
  ForRows(number, from, [&](size_t at, size_t) { places.push_back(at); });
  std::vector<char> rows(places.size() * sample_bytes_);
  ranks_.Exchange(0, {}, from, rows);
  const char* message = rows.data();
  for (const size_t at : places) {
    for (size_t p = 0; p < parts_.size(); ++p) {
      std::memcpy(PlaceOf(number, p, at), message, cols_[p] * parts_[p].bytes());
      message += cols_[p] * parts_[p].bytes();
    }
  }
}

void RankSampleWindows::SendOwn(uint64_t number) {
  std::vector<char> rows;
  ForRows(number, ranks_.rank(), [&](size_t, size_t row) {
    for (size_t p = 0; p < parts_.size(); ++p) {
      const size_t bytes = cols_[p] * parts_[p].bytes();
      rows.resize(rows.size() + bytes);
      parts_[p].Copy(row, 0, cols_[p], rows.data() + rows.size() - bytes);
    }
  });
  ranks_.Exchange(0, rows, 0, {});
}

void RankSampleWindows::Serve() {
  for (;;) {
    Request request{};
    ranks_.Exchange(0, {}, 0, {reinterpret_cast<char*>(&request), sizeof(request)});
    if (request.window < 0) return;
    const auto number = static_cast<uint64_t>(request.window);
    if (!in_place_) {
      SendOwn(number);
      continue;
    }
    WriteOwn(number);
    const char written = 1;
    ranks_.Exchange(0, {&written, 1}, 0, {});
  }
}

void RankSampleWindows::Await(uint32_t epoch, uint32_t window) {
  const uint64_t number = uint64_t{epoch} * windows_ + window;
  if (travelling_.valid() && (next_ <= number || held_[number % kRingWindows] != number + 1))
    travelling_.get();
  // A training that begins, goes on after a pause or leaves out a last short batch meets windows that nobody asked for
  // ahead.
  const uint64_t first = window == 0 ? number : number - 1;
  for (uint64_t needed = first; needed <= number; ++needed) {
    if (held_[needed % kRingWindows] != needed + 1) Fetch(needed);
  }
  if (travelling_.valid() || held_[(number + 1) % kRingWindows] == number + 2) return;
  next_ = number + 1;
  travelling_ = std::async(std::launch::async, [this, ahead = number + 1] { Fetch(ahead); });
}

void RankSampleWindows::Settle() {
  if (travelling_.valid()) travelling_.get();
  const Request request{-1};
  for (uint32_t r = 1; r < ranks_.size(); ++r)
    ranks_.Exchange(r, {reinterpret_cast<const char*>(&request), sizeof(request)}, 0, {});
}

Features RowsOfSamples(const Context& context, SharedPool* shared, const RankRows& own,
                       const RankMatrixShape& shape, std::span<const uint32_t> samples) {
  Ranks& ranks = *context.ranks;
  const auto positions = PositionsByRank(ranks, samples, shape.rows);
  const std::vector<uint32_t> rows = OwnRows(ranks, positions, samples, shape.rows);
  const size_t row_bytes = shape.cols * own.bytes(), count = samples.empty() ? shape.rows : samples.size();
  std::shared_ptr<void> all;
  const auto place = [&](uint32_t of, size_t i) {
    return static_cast<char*>(all.get()) + positions[of][i] * row_bytes;
  };
  if (shared != nullptr) all = shared->Take(count * row_bytes);
  if (shared == nullptr && ranks.leads()) all = AllocateAligned(count * row_bytes);
  if (all != nullptr) {
    ParallelFor(context, rows.size(), kRowsCopied, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) own.Copy(rows[i], 0, shape.cols, place(ranks.rank(), i));
    });
  }
  if (shared != nullptr) {
    Barrier(ranks);
  } else {
    std::vector<char> packed(ranks.leads() ? 0 : rows.size() * row_bytes);
    for (size_t i = 0; !packed.empty() && i < rows.size(); ++i)
      own.Copy(rows[i], 0, shape.cols, packed.data() + i * row_bytes);
    if (!ranks.leads()) ranks.Exchange(0, packed, 0, {});
    for (uint32_t from = 1; ranks.leads() && from < ranks.size(); ++from) {
      std::vector<char> received(positions[from].size() * row_bytes);
      ranks.Exchange(0, {}, from, received);
      for (size_t i = 0; i < positions[from].size(); ++i)
        std::memcpy(place(from, i), received.data() + i * row_bytes, row_bytes);
    }
  }
  if (!ranks.leads()) return {};
  return RowsAsFeatures(own.type(), all, static_cast<const char*>(all.get()), count, shape.cols);
}

std::shared_ptr<ThreadPool> ThreadsOfAllRanks(const Context& context) {
  Ranks& ranks = *context.ranks;
  const auto threads = static_cast<uint32_t>(SumOverRanks(ranks, context.threads));
  std::vector<cpu_set_t> cores(ranks.size());
  std::vector<size_t> offsets(ranks.size() + size_t{1});
  for (uint32_t r = 0; r <= ranks.size(); ++r) offsets[r] = r * sizeof(cpu_set_t);
  cpu_set_t& own = cores[ranks.rank()];
  CPU_ZERO(&own);
  const bool known = sched_getaffinity(0, sizeof(own), &own) == 0;
  AllGather(ranks, offsets, BytesIn(std::span<cpu_set_t>(cores)));
  if (!ranks.leads()) return nullptr;
  cpu_set_t all = own;
  for (const cpu_set_t& of_rank : cores) CPU_OR(&all, &all, &of_rank);
  // Threads inherit where they may run. Where the system forbids more cores, they share rank 0's.
  const bool widened = known && sched_setaffinity(0, sizeof(all), &all) == 0;
  auto pool = std::make_shared<ThreadPool>(threads);
  if (widened) sched_setaffinity(0, sizeof(own), &own);
  return pool;
}

void RankTraining::RunEpochs(const Context& context, uint32_t first, uint32_t count, std::span<double> losses,
                             std::vector<double>* step_losses) {
  std::vector<double> steps;
  if (own_ != nullptr) {
    Context stepping = context;
    if (threads_ != nullptr) stepping.pool = threads_, stepping.threads = threads_->threads();
    own_->RunEpochs(stepping, first, count, losses, step_losses != nullptr ? &steps : nullptr);
    if (windows_ != nullptr) windows_->Settle();
  } else if (windows_ != nullptr) {
    windows_->Serve();
  }
  Broadcast(*ranks_, BytesIn(losses));
  if (step_losses == nullptr) return;
  uint64_t number = steps.size();
  Broadcast(*ranks_, {reinterpret_cast<char*>(&number), sizeof(number)});
  steps.resize(number);
  Broadcast(*ranks_, BytesIn(std::span<double>(steps)));
  step_losses->insert(step_losses->end(), steps.begin(), steps.end());
}

LayerState RankTraining::Read() const {
  LayerState state;
  if (own_ != nullptr) state = own_->Read();
  std::string names;  // each with a comma behind it
  for (const Parameter& parameter : state.parameters) names += parameter.name + ",";
  BroadcastText(*ranks_, names);
  if (own_ == nullptr) {
    for (size_t begin = 0, end; (end = names.find(',', begin)) != std::string::npos; begin = end + 1)
      state.parameters.push_back({names.substr(begin, end - begin), {}, {}, {}});
  }
  for (Parameter& parameter : state.parameters) {
    Broadcast(*ranks_, {reinterpret_cast<char*>(&parameter.steps), sizeof(parameter.steps)});
    for (Matrix* matrix : {&parameter.value, &parameter.m, &parameter.v}) BroadcastMatrix(*ranks_, *matrix);
  }
  return state;
}

}  // namespace l2gcn
