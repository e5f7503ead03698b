// A small pool of std::threads (thread sanitiser sees through it, unlike libgomp). Work is cut so that
// results never depend on the number of threads: a body writes only the outputs of its own indices.
//
// A region wakes only the workers it needs; idle workers spin briefly, then sleep. The first exception thrown
// in a region is rethrown to the caller after all have finished. Regions do not nest: a body that needs
// threads of its own must bring its own Context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "l2gcn/context.h"

namespace l2gcn {

class ThreadPool {
 public:
  explicit ThreadPool(uint32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  uint32_t threads() const;
  // Runs body(worker) on workers 0 … count−1 at once (count ≤ threads()); worker 0 is the caller.
  void Run(uint32_t count, const std::function<void(uint32_t worker)>& body);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// All workers of a region meet here. Made for regions with a known number of participants.
class Barrier {
 public:
  explicit Barrier(uint32_t participants) : participants_(participants) {}
  void Wait();

 private:
  const uint32_t participants_;
  std::atomic<uint32_t> arrived_{0};
  std::atomic<uint32_t> generation_{0};
};

// body(begin, end) over contiguous pieces of 0 … count−1, at least `grain` indices each (but the last).
void ParallelFor(const Context& context, size_t count, size_t grain,
                 const std::function<void(size_t begin, size_t end)>& body);

// body(task, worker) for tasks 0 … count−1, handed out one at a time: for uneven work.
void ParallelTasks(const Context& context, size_t count,
                   const std::function<void(size_t task, uint32_t worker)>& body);

}  // namespace l2gcn
