#include "core/phases.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "core/error_format.h"
#include "core/threads.h"
#include "core/waiting.h"

namespace l2gcn {
namespace {

constexpr uint32_t kMostTasks = 0x7FFF, kMostWorkers = 0x1FFF;

// A phase's number and plan, read and written as one word: a worker never mixes two phases.
struct PhaseState {
  uint32_t phase;
  uint32_t tasks : 15;
  uint32_t workers : 13;
  uint32_t unit : 4;
};
static_assert(kMostInUnit < 16 && std::atomic<PhaseState>::is_always_lock_free);

// What is taken of a worker's share, at both ends, in the phase it tells; or of a unit, at its front.
struct Taken {
  uint32_t phase;
  uint16_t front, back;
};
static_assert(std::atomic<Taken>::is_always_lock_free);

// Heads of a unit that are done, in the phase it tells.
struct HeadsDone {
  uint32_t phase, count;
};
static_assert(std::atomic<HeadsDone>::is_always_lock_free);

struct alignas(64) Share {
  std::atomic<Taken> taken{Taken{0, 0, 0}};
  std::atomic<HeadsDone> heads{HeadsDone{0, 0}};
};

struct alignas(64) Waiter {
  Patience patience;
};

class PhaseRun {
 public:
  // `patient`: every worker can have a core.
  PhaseRun(uint32_t most, bool patient, PhasePlan first, const std::function<void(const PhaseTask&)>& body,
           const std::function<PhasePlan()>& next, uint32_t heads)
      : body_(body),
        next_(next),
        heads_(heads),
        most_(most),
        shares_(std::max(most, kMostUnits)),
        waiters_(most, Waiter{Patience(patient)}),
        state_(StateOf(1, first)),
        phase_(1) {}

  // One worker's life.
  void Work(uint32_t worker) {
    for (;;) {
      const uint32_t parked = parked_.Load();
      const PhaseState state = state_.load(std::memory_order_acquire);
      if (state.tasks == 0) return;
      if (worker >= state.workers) {
        parked_.SleepWhile(parked);
        continue;
      }
      uint32_t done = 0;
      try {
        done = state.unit > 1 ? TakeUnits(state, worker) : TakeTasks(state, worker);
      } catch (...) {
        Enter(StateOf(state.phase + 1, {0, 0}));
        throw;
      }
      if (done > 0 && finished_.fetch_add(done, std::memory_order_acq_rel) + done == state.tasks) {
        Advance(state);
      } else {
        AwaitOther(state, waiters_[worker].patience);
      }
    }
  }

 private:
  static PhaseState StateOf(uint32_t phase, PhasePlan plan) {
    L2GCN_ASSERT(plan.tasks <= kMostTasks && plan.workers <= kMostWorkers && plan.unit <= kMostInUnit);
    L2GCN_ASSERT(plan.unit == 1 || (plan.tasks % plan.unit == 0 && plan.tasks / plan.unit <= kMostUnits));
    return {phase, plan.tasks & kMostTasks, plan.workers & kMostWorkers, plan.unit & kMostInUnit};
  }

  bool IsNow(const PhaseState& state) const {
    return state_.load(std::memory_order_acquire).phase == state.phase;
  }
  void AwaitOther(const PhaseState& state, Patience& patience) const {
    if (!patience.SpinUntil([&] { return !IsNow(state); })) phase_.SleepWhile(state.phase);
  }

  // Runs tasks of the present phase until all are taken; returns how many.
  uint32_t TakeTasks(const PhaseState& state, uint32_t worker) {
    uint32_t done = 0;
    for (uint32_t i = 0; i < state.workers; ++i) {
      const uint32_t owner = (worker + i) % state.workers;
      const uint32_t begin = ShareBegin(state, owner), end = ShareBegin(state, owner + 1);
      for (;;) {
        const uint32_t task = Take(state, owner, begin, end, i == 0);
        if (task == end) break;
        const uint32_t next = i == 0 && task + 1 < end ? task + 1 : state.tasks;
        body_({task, next, state.tasks, worker, ShareBegin(state, worker), end});
        ++done;
        if (!IsNow(state)) return done;  // another task has thrown
      }
    }
    return done;
  }

  // The same of a phase whose tasks go together in units: its own units in order, then the others' from their end.
  // Where all that is left waits for tasks under way, it looks for a while.
  uint32_t TakeUnits(const PhaseState& state, uint32_t worker) {
    uint32_t done = 0;
    for (;;) {
      const uint32_t units = state.tasks / state.unit;
      uint32_t waiting = units;  // a unit whose next task is not ready
      for (uint32_t i = 0; i < state.workers; ++i) {
        const uint32_t owner = (worker + i) % state.workers;
        const uint32_t begin = ShareBegin(state, owner) / state.unit;
        const uint32_t end = ShareBegin(state, owner + 1) / state.unit;
        for (uint32_t k = begin; k < end; ++k) {
          const uint32_t unit = i == 0 ? k : begin + end - 1 - k;
          const uint32_t next = i == 0 && unit + 1 < end ? (unit + 1) * state.unit : uint32_t{state.tasks};
          Found found;
          while ((found = TakeOfUnit(state, unit)).kind == Found::kTask) {
            body_({found.task, next, state.tasks, worker, ShareBegin(state, worker), end * state.unit});
            ++done;
            if (found.task - unit * state.unit < heads_) EndHead(state, unit);
            if (!IsNow(state)) return done;  // another task has thrown
          }
          if (found.kind == Found::kNotReady) waiting = unit;
        }
      }
      if (waiting == units) return done;
      const auto changed = [&] {
        return !IsNow(state) || NextOfUnit(state, waiting).kind != Found::kNotReady;
      };
      if (!waiters_[worker].patience.SpinUntil(changed) || !IsNow(state)) return done;
    }
  }

  struct Found {
    enum Kind { kTask, kNotReady, kNone } kind;
    uint32_t task;
  };
  // The first task of a unit that nobody has taken. In a phase that is over every unit is used up.
  Found NextOfUnit(const PhaseState& state, uint32_t unit, const Taken& taken) const {
    if (static_cast<int32_t>(taken.phase - state.phase) > 0) return {Found::kNone, 0};
    const uint32_t front = taken.phase == state.phase ? taken.front : 0;
    if (front == state.unit) return {Found::kNone, 0};
    const bool ready = front < heads_ || HeadsEnded(state, unit);
    return {ready ? Found::kTask : Found::kNotReady, unit * state.unit + front};
  }
  Found NextOfUnit(const PhaseState& state, uint32_t unit) const {
    return NextOfUnit(state, unit, shares_[unit].taken.load(std::memory_order_relaxed));
  }
  Found TakeOfUnit(const PhaseState& state, uint32_t unit) {
    std::atomic<Taken>& share = shares_[unit].taken;
    Taken taken = share.load(std::memory_order_relaxed);
    for (;;) {
      const Found found = NextOfUnit(state, unit, taken);
      if (found.kind != Found::kTask) return found;
      const Taken more{state.phase, static_cast<uint16_t>(found.task - unit * state.unit + 1), 0};
      if (share.compare_exchange_weak(taken, more, std::memory_order_relaxed)) return found;
    }
  }

  void EndHead(const PhaseState& state, uint32_t unit) {
    std::atomic<HeadsDone>& heads = shares_[unit].heads;
    HeadsDone done = heads.load(std::memory_order_relaxed), more;
    do {
      more = {state.phase, done.phase == state.phase ? done.count + 1 : 1};
    } while (!heads.compare_exchange_weak(done, more, std::memory_order_acq_rel));
  }
  bool HeadsEnded(const PhaseState& state, uint32_t unit) const {
    const HeadsDone done = shares_[unit].heads.load(std::memory_order_acquire);
    return done.phase == state.phase && done.count == heads_;
  }

  // Shares are cut between units.
  static uint32_t ShareBegin(const PhaseState& state, uint32_t worker) {
    const uint32_t units = state.tasks / state.unit;
    return static_cast<uint32_t>(uint64_t{units} * worker / state.workers) * state.unit;
  }

  // A task of the share begin … end−1 that nobody has taken, or `end`. The owner takes from the front. In a
  // phase that is over every share is used up, so a worker that comes late takes nothing.
  uint32_t Take(const PhaseState& state, uint32_t owner, uint32_t begin, uint32_t end, bool from_front) {
    std::atomic<Taken>& share = shares_[owner].taken;
    Taken taken = share.load(std::memory_order_relaxed);
    for (;;) {
      if (static_cast<int32_t>(taken.phase - state.phase) > 0) return end;
      Taken more = taken.phase == state.phase ? taken : Taken{state.phase, 0, 0};
      if (more.front + more.back >= static_cast<int>(end - begin)) return end;
      const uint32_t task = from_front ? begin + more.front++ : end - 1 - more.back++;
      if (share.compare_exchange_weak(taken, more, std::memory_order_relaxed)) return task;
    }
  }

  // The last task of the phase is done: what follows, by this thread alone.
  void Advance(const PhaseState& state) {
    finished_.store(0, std::memory_order_relaxed);
    PhasePlan plan;
    try {
      plan = next_();
    } catch (...) {
      Enter(StateOf(state.phase + 1, {0, 0}));
      throw;
    }
    plan.workers = std::min(plan.workers, most_);
    Enter(StateOf(state.phase + 1, plan));
  }

  void Enter(const PhaseState& state) {
    const PhaseState before = state_.exchange(state, std::memory_order_acq_rel);
    phase_.Store(state.phase);
    if (state.tasks == 0 || state.workers > before.workers) parked_.Add(1);
  }

  const std::function<void(const PhaseTask&)>& body_;
  const std::function<PhasePlan()>& next_;
  const uint32_t heads_;         // of a unit
  const uint32_t most_;          // workers
  std::vector<Share> shares_;    // (most, at least kMostUnits) of workers or units
  std::vector<Waiter> waiters_;  // (most)
  alignas(64) std::atomic<PhaseState> state_;
  WaitWord phase_;                                 // the number in state_, to wait for
  WaitWord parked_;                                // counts calls to those who do not take part
  alignas(64) std::atomic<uint32_t> finished_{0};  // tasks of the present phase
};

}  // namespace

void RunPhases(const Context& context, uint32_t most, PhasePlan first,
               const std::function<void(const PhaseTask&)>& body, const std::function<PhasePlan()>& next,
               uint32_t heads) {
  L2GCN_ASSERT(most >= 1 && most <= context.threads && first.workers <= most);
  PhaseRun run(most, most <= context.pool->cores(), first, body, next, heads);
  context.pool->Run(most, [&](uint32_t worker) { run.Work(worker); });
}

}  // namespace l2gcn
