#include "core/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/error_format.h"

namespace l2gcn {
namespace {

// How often a waiter looks before it sleeps: some tens of microseconds, longer than the phases of a small
// step. Sleeping matters when there are more runnable threads than cores: a spinning or yielding waiter would
// keep the one it waits for from running.
constexpr int kSpins = 4000;

// Returns once `value` is no longer `old`; whoever changes it must notify.
template <class T>
void WaitWhileEqual(const std::atomic<T>& value, T old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    __builtin_ia32_pause();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

}  // namespace

struct ThreadPool::Impl {
  struct Slot {
    alignas(64) std::atomic<uint64_t> ticket{0};  // region number this worker should run
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
      WaitWhileEqual(slot.ticket, seen);
      if (quit.load(std::memory_order_acquire)) return;
      seen = slot.ticket.load(std::memory_order_acquire);
      Invoke(worker);
      running.fetch_sub(1, std::memory_order_acq_rel);
      running.notify_one();
    }
  }

  void Signal(uint32_t worker, uint64_t value) {
    Slot& slot = *slots[worker - 1];
    slot.ticket.store(value, std::memory_order_release);
    slot.ticket.notify_one();
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
  for (uint32_t left = impl_->running.load(std::memory_order_acquire); left != 0;
       left = impl_->running.load(std::memory_order_acquire)) {
    WaitWhileEqual(impl_->running, left);
  }
  if (impl_->error) std::rethrow_exception(impl_->error);
}

void Barrier::Wait() {
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == participants_) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    generation_.notify_all();
    return;
  }
  WaitWhileEqual(generation_, generation);
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
