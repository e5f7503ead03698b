// Work in phases: all tasks of one phase are done before those of the next begin. Whoever finishes a phase's
// last task prepares the next one, alone; then everyone goes on.
//
// A phase waits for its tasks, not for its workers. Each worker has a share of the tasks of its own, so that
// the same memory tends to stay in the same core's cache; one that is done takes tasks from the others'
// shares, from their far end. A worker that is not given a core therefore holds nobody up, unless it is
// stopped in the middle of a task; it joins again wherever the others are by then. A phase may ask for fewer workers than there are; the others sleep meanwhile.
//
// Tasks may go together in units of equal length: the first ones of a unit, its heads, may run at once, the others
// once the heads are done. A share then consists of whole units. Who finds that a unit's heads are still
// under way takes from another unit; who ends the last of them goes on with that unit.
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
  uint32_t unit =
      1;  // tasks that go together, at most kMostInUnit; at most kMostUnits times in `tasks`, if > 1
};
inline constexpr uint32_t kMostInUnit = 15, kMostUnits = 64;

struct PhaseTask {
  uint32_t task;  // 0 … tasks − 1
  uint32_t
      next;  // what this worker is likely to take next, a task or a unit's first one, or `tasks`: for prefetching
  uint32_t tasks;      // of the phase
  uint32_t worker;     // 0 … most − 1; no two tasks run at once with the same
  uint32_t first;      // of this worker's share of a phase with as many tasks
  uint32_t share_end;  // end of the share the task is from
};

// Runs phases, beginning with `first`, on up to `most` threads of the context. body(task) runs once for each
// task; next() is called once after each phase, by one thread while no task runs, and says what follows. `heads` is
// how many tasks of a unit are heads, in phases that have units.
void RunPhases(const Context& context, uint32_t most, PhasePlan first,
               const std::function<void(const PhaseTask&)>& body, const std::function<PhasePlan()>& next,
               uint32_t heads = 0);

}  // namespace l2gcn
