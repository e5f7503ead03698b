// Background tasks on threads of their own, at a pace that the foreground sets: reading ahead should keep the disk busy
// without delaying the reads that are needed now.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <system_error>
#include <utility>
#include <vector>

namespace l2gcn {

class PacedTasks {
 public:
  // Begins work on a thread of its own. Throws std::system_error where none is to be had.
  using StartThread = std::function<std::future<void>(const std::function<void()>& work)>;

  // do_task(i, worker) for i in 0 … count − 1, in order, by `workers` threads, or by as many as are to be had. Where there
  // are none at all, Finish() does all tasks.
  PacedTasks(size_t count, size_t workers, std::function<void(size_t task, size_t worker)> do_task,
             const StartThread& start = StartAsync)
      : count_(count), do_task_(std::move(do_task)) {
    try {
      workers_.reserve(std::min(workers, count));
      for (size_t worker = 0; worker < std::min(workers, count); ++worker)
        workers_.push_back(start([this, worker] { Work(worker); }));
    } catch (const std::system_error&) {
      // Those that are there do the work.
    } catch (...) {  // threads that wait for leave would never end
      LeaveOut();
      throw;
    }
  }
  // Tasks that were not begun are left out.
  ~PacedTasks() {
    LeaveOut();
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
    if (workers_.empty()) Work(0);
    for (std::future<void>& worker : workers_) worker.get();
  }

 private:
  static std::future<void> StartAsync(const std::function<void()>& work) {
    return std::async(std::launch::async, work);
  }
  void LeaveOut() {
    ended_ = true;
    Allow(count_);
  }
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
