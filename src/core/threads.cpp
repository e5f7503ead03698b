#include "core/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/error_format.h"

namespace l2gcn {
namespace {

// Spins for a few microseconds, then yields: a waiter must not starve the one it waits for when there are
// more threads than cores.
class Backoff {
 public:
  void Pause() {
    if (++spins_ < 2000) {
      __builtin_ia32_pause();
    } else {
      std::this_thread::yield();
    }
  }
  bool Exhausted() const { return spins_ > 4000; }

 private:
  int spins_ = 0;
};

}  // namespace

struct ThreadPool::Impl {
  struct Slot {
    alignas(64) std::atomic<uint64_t> ticket{0};  // region number this worker should run
    std::mutex mutex;
    std::condition_variable wake;
    bool asleep = false;
  };
  uint32_t threads = 1;
  std::vector<std::unique_ptr<Slot>> slots;  // (threads − 1)
  std::vector<std::thread> workers;
  std::atomic<bool> quit{false};
  uint64_t region = 0;
  const std::function<void(uint32_t)>* body = nullptr;
  alignas(64) std::atomic<uint32_t> running{0};
  std::mutex error_mutex;
  std::exception_ptr error;

  void Invoke(uint32_t worker) {
    try {
      (*body)(worker);
    } catch (...) {
      std::lock_guard<std::mutex> lock(error_mutex);
      if (!error) error = std::current_exception();
    }
  }

  void Serve(uint32_t worker) {
    Slot& slot = *slots[worker - 1];
    uint64_t seen = 0;
    for (;;) {
      Backoff backoff;
      while (slot.ticket.load(std::memory_order_acquire) == seen && !backoff.Exhausted()) backoff.Pause();
      if (slot.ticket.load(std::memory_order_acquire) == seen) {
        std::unique_lock<std::mutex> lock(slot.mutex);
        slot.asleep = true;
        slot.wake.wait(lock, [&] { return slot.ticket.load(std::memory_order_acquire) != seen; });
        slot.asleep = false;
      }
      if (quit.load(std::memory_order_acquire)) return;
      seen = slot.ticket.load(std::memory_order_acquire);
      Invoke(worker);
      running.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  void Signal(uint32_t worker, uint64_t value) {
    Slot& slot = *slots[worker - 1];
    std::lock_guard<std::mutex> lock(slot.mutex);
    slot.ticket.store(value, std::memory_order_release);
    if (slot.asleep) slot.wake.notify_one();
  }
};

ThreadPool::ThreadPool(uint32_t threads) : impl_(std::make_unique<Impl>()) {
  impl_->threads = std::max(1u, threads);
  for (uint32_t worker = 1; worker < impl_->threads; ++worker) {
    impl_->slots.push_back(std::make_unique<Impl::Slot>());
  }
  for (uint32_t worker = 1; worker < impl_->threads; ++worker) {
    impl_->workers.emplace_back([impl = impl_.get(), worker] { impl->Serve(worker); });
  }
}

ThreadPool::~ThreadPool() {
  impl_->quit.store(true, std::memory_order_release);
  for (uint32_t worker = 1; worker < impl_->threads; ++worker) impl_->Signal(worker, ~uint64_t{0});
  for (std::thread& worker : impl_->workers) worker.join();
}

uint32_t ThreadPool::threads() const { return impl_->threads; }

void ThreadPool::Run(uint32_t count, const std::function<void(uint32_t)>& body) {
  L2GCN_ASSERT(count >= 1 && count <= impl_->threads);
  if (count == 1) return body(0);
  impl_->body = &body;
  impl_->error = nullptr;
  impl_->running.store(count - 1, std::memory_order_release);
  ++impl_->region;
  for (uint32_t worker = 1; worker < count; ++worker) impl_->Signal(worker, impl_->region);
  impl_->Invoke(0);
  Backoff backoff;
  while (impl_->running.load(std::memory_order_acquire) != 0) backoff.Pause();
  if (impl_->error) std::rethrow_exception(impl_->error);
}

void Barrier::Wait() {
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == participants_) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    return;
  }
  Backoff backoff;
  while (generation_.load(std::memory_order_acquire) == generation) backoff.Pause();
}

void ParallelFor(const Context& context, size_t count, size_t grain,
                 const std::function<void(size_t, size_t)>& body) {
  if (count == 0) return;
  const size_t pieces = std::max<size_t>(1, count / std::max<size_t>(1, grain));
  const auto workers = static_cast<uint32_t>(std::min<size_t>(pieces, context.threads));
  if (workers <= 1) return body(0, count);
  context.pool->Run(workers,
                    [&](uint32_t worker) { body(count * worker / workers, count * (worker + 1) / workers); });
}

void ParallelTasks(const Context& context, size_t count, const std::function<void(size_t, uint32_t)>& body) {
  const auto workers = static_cast<uint32_t>(std::min<size_t>(count, context.threads));
  if (workers <= 1) {
    for (size_t task = 0; task < count; ++task) body(task, 0);
    return;
  }
  std::atomic<size_t> next{0};
  context.pool->Run(workers, [&](uint32_t worker) {
    for (size_t task = next.fetch_add(1); task < count; task = next.fetch_add(1)) body(task, worker);
  });
}

}  // namespace l2gcn
