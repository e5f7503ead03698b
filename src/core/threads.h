// A small pool of std::threads (thread sanitiser sees through it, unlike libgomp). Work is cut so that
// results never depend on the number of threads: a body writes only the outputs of its own indices.
//
// A region never waits for helpers: those that join take work as long as there is some, and the caller does the rest. So a
// region ends soon even if other processes hold some of the cores. ParallelFor and ParallelTasks do not call helpers that came too late again and again. Idle
// threads spin briefly while they wait for work, then sleep. The first exception thrown in a region is rethrown to the
// caller after all have finished. A region inside a region gets no helpers: a body that needs threads of its
// own must bring its own Context. Several threads may use one pool: while the region of one runs, the
// others work without helpers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "l2gcn/context.h"

namespace l2gcn {

class ThreadPool {
 public:
  // Starts threads − 1 helpers, or as many as the system allows.
  explicit ThreadPool(uint32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  uint32_t threads() const;
  // That this process could use when the pool was made.
  uint32_t cores() const;
  // Runs body(0) on the caller and body(worker), 1 ≤ worker < count ≤ threads(), on each helper that takes up
  // the offer before body(0) has returned. The body must therefore share out its work itself, piece by piece,
  // and return when none is left.
  void Run(uint32_t count, const std::function<void(uint32_t worker)>& body);
  // Threads that short regions should count on: fewer than threads() while some helpers get no core.
  uint32_t Prompt() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// body(begin, end) over contiguous pieces of 0 … count−1, at least `grain` indices each (but the last).
void ParallelFor(const Context& context, size_t count, size_t grain,
                 const std::function<void(size_t begin, size_t end)>& body);

// body(task, worker) for tasks 0 … count−1, handed out one at a time: for uneven work.
void ParallelTasks(const Context& context, size_t count,
                   const std::function<void(size_t task, uint32_t worker)>& body);

}  // namespace l2gcn
