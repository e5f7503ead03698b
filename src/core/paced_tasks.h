// Tasks that threads of their own do in the background, at a pace that somebody else sets: reading of what comes later
// should keep a disk busy, but not so that what is wanted now has to wait for it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <vector>

namespace l2gcn {

class PacedTasks {
 public:
  // do_task(i, worker) for i in 0 … count − 1, in order, by `workers` threads.
  PacedTasks(size_t count, size_t workers, std::function<void(size_t task, size_t worker)> do_task)
      : count_(count), do_task_(std::move(do_task)) {
    for (size_t worker = 0; worker < std::min(workers, count); ++worker)
      workers_.push_back(std::async(std::launch::async, [this, worker] { Work(worker); }));
  }
  // Tasks that were not begun are left out.
  ~PacedTasks() {
    ended_ = true;
    Allow(count_);
    for (std::future<void>& worker : workers_) {
      if (worker.valid()) worker.wait();
    }
  }
  PacedTasks(const PacedTasks&) = delete;
  PacedTasks& operator=(const PacedTasks&) = delete;

  // The first `tasks` may be begun.
  void Allow(size_t tasks) {
    allowed_ = std::min(tasks, count_);
    allowed_.notify_all();
  }
  // All are done when this returns. An error of one is thrown here.
  void Finish() {
    Allow(count_);
    for (std::future<void>& worker : workers_) worker.get();
  }

 private:
  void Work(size_t worker) {
    for (size_t task = next_++; task < count_; task = next_++) {
      for (size_t allowed = allowed_; allowed <= task; allowed = allowed_) allowed_.wait(allowed);
      if (ended_) return;
      do_task_(task, worker);
    }
  }

  const size_t count_;
  const std::function<void(size_t, size_t)> do_task_;
  std::atomic<size_t> next_{0}, allowed_{0};
  std::atomic<bool> ended_{false};
  std::vector<std::future<void>> workers_;
};

}  // namespace l2gcn
