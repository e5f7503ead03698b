// Work in phases: all tasks of one phase are done before those of the next begin. Whoever finishes a phase's
// last task prepares the next one, alone; then everyone goes on.
//
// A phase waits for its tasks, not for its workers. Each worker has a share of the tasks of its own, so that
// the same memory tends to stay in the same core's cache; one that is through takes tasks from the others'
// shares, from their far end. A worker that is not given a core therefore holds nobody up, unless it is
// stopped in the middle of a task; it joins again wherever the others are by then. A phase may ask for fewer workers than there are; the others sleep meanwhile.
//
// A task that throws ends the run: no new task begins, and the first exception reaches the caller.
#pragma once

#include <cstdint>
#include <functional>

#include "l2gcn/context.h"

namespace l2gcn {

// What the next phase consists of.
struct PhasePlan {
  uint32_t tasks = 0;    // 0: the run is over
  uint32_t workers = 1;  // at most this many take part
};

struct PhaseTask {
  uint32_t task;       // 0 … tasks − 1
  uint32_t next;       // the task this worker is likely to take next, or `tasks`: for prefetching
  uint32_t tasks;      // of the phase
  uint32_t worker;     // 0 … most − 1; no two tasks run at once with the same
  uint32_t first;      // of this worker's share of a phase with as many tasks
  uint32_t share_end;  // end of the share the task is from
};

// Runs phases, beginning with `first`, on up to `most` threads of the context. body(task) runs once for each
// task; next() is called once after each phase, by one thread while no task runs, and says what follows.
void RunPhases(const Context& context, uint32_t most, PhasePlan first,
               const std::function<void(const PhaseTask&)>& body, const std::function<PhasePlan()>& next);

}  // namespace l2gcn
