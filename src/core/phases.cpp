#include "core/phases.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "core/error_format.h"
#include "core/threads.h"
#include "core/waiting.h"

namespace l2gcn {
namespace {

constexpr uint32_t kMostTasks = 0xFFFF, kMostWorkers = 0xFFFF;

// A phase's number and plan, read and written as one word: a worker never mixes two phases.
struct PhaseState {
  uint32_t phase;
  uint16_t tasks, workers;
};
static_assert(std::atomic<PhaseState>::is_always_lock_free);

// What is taken of a worker's share, at both ends, in the phase it tells.
struct Taken {
  uint32_t phase;
  uint16_t front, back;
};
static_assert(std::atomic<Taken>::is_always_lock_free);

struct alignas(64) Share {
  std::atomic<Taken> taken{Taken{0, 0, 0}};
};

struct alignas(64) Waiter {
  Patience patience;
};

class PhaseRun {
 public:
  // `patient`: every worker can have a core.
  PhaseRun(uint32_t most, bool patient, PhasePlan first, const std::function<void(const PhaseTask&)>& body,
           const std::function<PhasePlan()>& next)
      : body_(body),
        next_(next),
        shares_(most),
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
        done = TakeTasks(state, worker);
      } catch (...) {
        Enter({state.phase + 1, 0, 0});
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
    L2GCN_ASSERT(plan.tasks <= kMostTasks && plan.workers <= kMostWorkers);
    return {phase, static_cast<uint16_t>(plan.tasks), static_cast<uint16_t>(plan.workers)};
  }

  bool IsNow(const PhaseState& state) const {
    return state_.load(std::memory_order_acquire).phase == state.phase;
  }
  void AwaitOther(const PhaseState& state, Patience& patience) const {
    if (!patience.LookUntil([&] { return !IsNow(state); })) phase_.SleepWhile(state.phase);
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

  static uint32_t ShareBegin(const PhaseState& state, uint32_t worker) {
    return static_cast<uint32_t>(uint64_t{state.tasks} * worker / state.workers);
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
      Enter({state.phase + 1, 0, 0});
      throw;
    }
    plan.workers = std::min<uint32_t>(plan.workers, static_cast<uint32_t>(shares_.size()));
    Enter(StateOf(state.phase + 1, plan));
  }

  void Enter(const PhaseState& state) {
    const PhaseState before = state_.exchange(state, std::memory_order_acq_rel);
    phase_.Store(state.phase);
    if (state.tasks == 0 || state.workers > before.workers) parked_.Add(1);
  }

  const std::function<void(const PhaseTask&)>& body_;
  const std::function<PhasePlan()>& next_;
  std::vector<Share> shares_;    // (most)
  std::vector<Waiter> waiters_;  // (most)
  alignas(64) std::atomic<PhaseState> state_;
  WaitWord phase_;                                 // the number in state_, to wait for
  WaitWord parked_;                                // counts calls to those who do not take part
  alignas(64) std::atomic<uint32_t> finished_{0};  // tasks of the present phase
};

}  // namespace

void RunPhases(const Context& context, uint32_t most, PhasePlan first,
               const std::function<void(const PhaseTask&)>& body, const std::function<PhasePlan()>& next) {
  L2GCN_ASSERT(most >= 1 && most <= context.threads && first.workers <= most);
  PhaseRun run(most, most <= context.pool->cores(), first, body, next);
  context.pool->Run(most, [&](uint32_t worker) { run.Work(worker); });
}

}  // namespace l2gcn
