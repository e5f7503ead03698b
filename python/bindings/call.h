// How Python waits for the library.
//
// Work runs on a thread of its own, without the interpreter lock; the calling thread waits for it. Twenty times a
// second, and whenever the work has something to say, the caller wakes with the lock: it looks for signals,
// and it runs the caller's callbacks. So all Python code runs on the thread that made the call, other threads
// of the interpreter go on meanwhile, and Ctrl-C raises KeyboardInterrupt once the library has reached its
// next step. What a callback raises ends the work and reaches the caller as it is.
//
// A Call has threads of its own only while its work runs, so a process may fork between two calls.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "l2gcn/settings.h"
#include "ranks.h"

namespace l2gcn::python {

namespace nb = nanobind;

class Call {
 public:
  // `machine`: what the caller said of MachineFields(). The callables may be None: progress(dict), note(str),
  // warning(str). `ranks`, if there are some, share the work of RunByRanks. Throws Error(kUsage) for a value out of
  // range.
  Call(const Overrides& machine, nb::object progress, nb::object note, nb::object warning,
       std::shared_ptr<RanksHandle> ranks);

  // work(context) on a thread of its own, and what it returns. To be called with the interpreter lock.
  template <class Work>
  auto Run(const Work& work) {
    return RunWith(nullptr, work);
  }
  // The same where the ranks of a launcher share the work: every rank must make the same call. What only one of them
  // can know of (a full disk, a callback that raises) ends all of them.
  template <class Work>
  auto RunByRanks(const Work& work) {
    return RunWith(ranks_ != nullptr ? ranks_->ranks : nullptr, work);
  }

  // The same for opening data, which ranks do together where each machine keeps a copy of its own, and else alone.
  template <class Work>
  auto RunToOpen(const Work& work) {
    return RunWith(ranks_ != nullptr && !machine_.local_data.empty() ? ranks_->ranks : nullptr, work);
  }

  // From the working thread: runs `body` on the caller's thread with the interpreter lock, and waits for it. Throws
  // Error(kCancelled) if it raised.
  void Ask(const std::function<void()>& body);

 private:
  template <class Work>
  auto RunWith(const std::shared_ptr<Ranks>& ranks, const Work& work) {
    using Result = std::invoke_result_t<Work, const Context&>;
    if constexpr (std::is_void_v<Result>) {
      RunErased(ranks, [&](const Context& context) { work(context); });
    } else {
      std::optional<Result> result;
      RunErased(ranks, [&](const Context& context) { result.emplace(work(context)); });
      return std::move(*result);
    }
  }
  void RunErased(const std::shared_ptr<Ranks>& ranks, const std::function<void(const Context&)>& work);
  Context MakeCallContext(const std::shared_ptr<Ranks>& ranks);
  void EndRanks(Ranks& ranks, const std::exception_ptr& failure);
  // One awakening of the waiting caller, with the lock of mutex_ released and the interpreter's held.
  void Attend(const std::function<void()>* body);

  MachineConfig machine_;
  nb::object progress_, note_, warning_;
  std::shared_ptr<RanksHandle> ranks_;  // null: the process was started alone

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* asked_ = nullptr;  // what the work wants done; guarded by mutex_
  bool done_ = false;                             // the work has ended; guarded by mutex_
  std::atomic<bool> cancel_{false};
  std::unique_ptr<nb::python_error> raised_;  // by a callback or a signal; the caller's alone
  std::exception_ptr thrown_;                 // likewise, what is no Python error
};

// Calls `callable` from the working thread, or does nothing where it is None.
void Notify(Call& call, const nb::object& callable, const std::function<nb::object()>& argument);

void BindCall(nb::module_& module);

}  // namespace l2gcn::python
