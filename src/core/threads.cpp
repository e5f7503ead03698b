#include "core/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/disk_memory.h"
#include "core/error_format.h"
#include "core/waiting.h"

namespace l2gcn {
namespace {

constexpr size_t kPiecesFromDisk = 1024;

// What a helper's slot says.
enum SlotState : uint32_t { kIdle, kOffered, kTaken, kQuit };

// A helper that did not come to any of the regions of so long a time is not given a core.
constexpr std::chrono::microseconds kLate(300);
// After so long without anyone late, one more is called.
constexpr std::chrono::milliseconds kInTime(20);

}  // namespace

struct ThreadPool::Impl {
  std::atomic<bool> busy{false};  // a region runs: who comes with another one now works without helpers
  std::vector<std::unique_ptr<WaitWord>> slots;  // (helpers)
  std::vector<std::thread> helpers;
  uint32_t cores = UsableCores();
  const std::function<void(uint32_t)>* body = nullptr;
  std::atomic<uint32_t> prompt{1};  // threads that come when they are called, the caller among them
  std::chrono::steady_clock::duration late{};     // time of the regions in a row that somebody missed
  std::chrono::steady_clock::duration in_time{};  // time of those to which everyone came
  WaitWord finished;                              // helpers that are through with the present region
  std::mutex error_mutex;
  std::exception_ptr error;

  void Invoke(uint32_t worker) {
    try {
      (*body)(worker);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(error_mutex);
      if (!error) error = std::current_exception();
    }
  }

  void Serve(uint32_t worker) {
    WaitWord& slot = *slots[worker - 1];
    for (;;) {
      slot.WaitWhile(kIdle);
      if (slot.Load() == kQuit) return;
      if (!slot.Exchange(kOffered, kTaken)) continue;  // withdrawn meanwhile
      Invoke(worker);
      slot.Store(kIdle);
      finished.Add(1);
    }
  }

  // `came` of `count` threads took part in a region.
  void Learn(uint32_t count, uint32_t came, std::chrono::steady_clock::duration length) {
    constexpr std::chrono::steady_clock::duration kNone{};
    late = came == count ? kNone : late + length;
    in_time = came == count ? in_time + length : kNone;
    if (late > kLate) {
      late = kNone;
      if (prompt > 2 && count <= prompt) --prompt;
    } else if (in_time > kInTime && count >= prompt) {
      in_time = kNone;
      if (prompt <= helpers.size()) ++prompt;
    }
  }

  // Takes back the offers nobody took up and waits for those who did. Returns how many came.
  uint32_t Withdraw(uint32_t offered) {
    uint32_t came = 0;
    for (uint32_t i = 0; i < offered; ++i) {
      if (!slots[i]->Exchange(kOffered, kIdle)) ++came;
    }
    for (uint32_t seen = finished.Load(); seen != came; seen = finished.Load()) finished.WaitWhile(seen);
    return came;
  }
};

ThreadPool::ThreadPool(uint32_t threads) : impl_(std::make_unique<Impl>()) {
  const uint32_t wanted = std::max(1u, threads) - 1;
  for (uint32_t i = 0; i < wanted; ++i) impl_->slots.push_back(std::make_unique<WaitWord>(kIdle));
  impl_->helpers.reserve(wanted);
  try {
    for (uint32_t worker = 1; worker <= wanted; ++worker)
      impl_->helpers.emplace_back([impl = impl_.get(), worker] { impl->Serve(worker); });
  } catch (const std::system_error&) {
    // No more threads to be had (a limit on processes or memory): those that started do the work.
  }
  // More threads than cores are not likely to come at once: regions begin with as many as there are cores.
  if (wanted > 0) impl_->prompt = std::min(this->threads(), impl_->cores);
}

ThreadPool::~ThreadPool() {
  for (size_t i = 0; i < impl_->helpers.size(); ++i) impl_->slots[i]->Store(kQuit);
  for (std::thread& helper : impl_->helpers) helper.join();
}

uint32_t ThreadPool::threads() const { return static_cast<uint32_t>(impl_->helpers.size()) + 1; }

uint32_t ThreadPool::cores() const { return impl_->cores; }

uint32_t ThreadPool::Prompt() const { return impl_->prompt; }

void ThreadPool::Run(uint32_t count, const std::function<void(uint32_t)>& body) {
  L2GCN_ASSERT(count >= 1 && count <= threads());
  if (count == 1 || impl_->busy.exchange(true, std::memory_order_acquire)) return body(0);
  impl_->body = &body;
  impl_->error = nullptr;
  impl_->finished.Store(0);
  const auto begin = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i + 1 < count; ++i) impl_->slots[i]->Store(kOffered);
  impl_->Invoke(0);
  const auto length = std::chrono::steady_clock::now() - begin;
  impl_->Learn(count, 1 + impl_->Withdraw(count - 1), length);
  const std::exception_ptr error = std::exchange(impl_->error, nullptr);
  impl_->busy.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

void ParallelFor(const Context& context, size_t count, size_t grain,
                 const std::function<void(size_t, size_t)>& body) {
  if (count == 0) return;
  const size_t most = std::max<size_t>(1, count / std::max<size_t>(1, grain));
  // Under a budget of memory pieces are short, so that mapped pages can go between them.
  const size_t wanted =
      context.disk == nullptr ? context.threads : std::max<size_t>(kPiecesFromDisk, context.threads);
  const size_t pieces = std::min(most, wanted);
  if (pieces <= 1) return body(0, count);
  ParallelTasks(context, pieces,
                [&](size_t piece, uint32_t) { body(count * piece / pieces, count * (piece + 1) / pieces); });
}

void ParallelTasks(const Context& context, size_t count, const std::function<void(size_t, uint32_t)>& body) {
  const uint32_t prompt = context.pool == nullptr ? 1 : std::min(context.threads, context.pool->Prompt());
  const auto workers = static_cast<uint32_t>(std::min<size_t>(count, prompt));
  std::atomic<size_t> next{0};
  const auto work = [&](uint32_t worker) {
    for (size_t task = next.fetch_add(1); task < count; task = next.fetch_add(1)) {
      body(task, worker);
      if (context.disk != nullptr) context.disk->Relax();
    }
  };
  if (workers <= 1) return work(0);
  context.pool->Run(workers, work);
}

}  // namespace l2gcn
