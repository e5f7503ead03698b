#include "call.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <exception>
#include <thread>

#include "l2gcn/error.h"

namespace l2gcn::python {
namespace {

constexpr std::chrono::milliseconds kSignalPollInterval(50);

nb::object ProgressDict(const Progress& progress) {
  nb::dict dict;
  dict["phase"] = progress.phase;
  dict["layer"] = progress.layer;
  dict["layers"] = progress.layers;
  dict["epoch"] = progress.epoch;
  dict["epochs"] = progress.epochs;
  dict["loss"] = progress.loss;
  dict["nodes_per_second"] = progress.nodes_per_second;
  dict["seconds_left"] = progress.seconds_left;
  if (progress.stop_probability >= 0) dict["stop_probability"] = progress.stop_probability;
  if (progress.validation_epoch > 0) dict["validation_f1"] = progress.validation_f1;
  return dict;
}

}  // namespace

Call::Call(const Overrides& machine, nb::object progress, nb::object note, nb::object warning,
           std::shared_ptr<RanksHandle> ranks)
    : progress_(std::move(progress)),
      note_(std::move(note)),
      warning_(std::move(warning)),
      ranks_(std::move(ranks)) {
  SetFields(MachineFields(), machine, machine_);
}

Context Call::MakeCallContext(const std::shared_ptr<Ranks>& ranks) {
  Context context = MakeContext(machine_);
  context.ranks = ranks;
  if (ranks != nullptr) {
    ranks->SettleExchange(machine_.exchange);
    context.device_index = ranks->local_rank();
  }
  context.device = ChooseDevice(machine_.device);
  context.cancel = &cancel_;
  if (!progress_.is_none()) {
    context.on_progress = [this](const Progress& progress) {
      Notify(*this, progress_, [&] { return ProgressDict(progress); });
    };
  }
  const auto sentences = [this](const nb::object& callable) -> std::function<void(const std::string&)> {
    if (callable.is_none()) return {};
    return [this, &callable](const std::string& text) {
      Notify(*this, callable, [&] { return nb::cast(text); });
    };
  };
  context.on_note = sentences(note_);
  context.on_warning = sentences(warning_);
  return context;
}

void Call::Attend(const std::function<void()>* body) {
  const nb::gil_scoped_acquire lock;
  if (raised_ != nullptr || thrown_) return;
  try {
    if (body != nullptr) (*body)();
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  } catch (nb::python_error& error) {
    raised_ = std::make_unique<nb::python_error>(std::move(error));
    cancel_.store(true, std::memory_order_relaxed);
  } catch (...) {
    thrown_ = std::current_exception();
    cancel_.store(true, std::memory_order_relaxed);
  }
}

// A failure that every rank meets reaches every rank's caller; any other one ends them all.
void Call::EndRanks(Ranks& ranks, const std::exception_ptr& failure) {
  if (raised_ != nullptr) ranks.Abort(raised_->what(), 1);
  try {
    if (thrown_) std::rethrow_exception(thrown_);
    if (failure) std::rethrow_exception(failure);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUsage || error.kind() == ErrorKind::kInput) return;
    ranks.Abort(error.what(), 1);
  } catch (const std::exception& error) {
    ranks.Abort(error.what(), 1);
  }
}

void Call::RunErased(const std::shared_ptr<Ranks>& ranks, const std::function<void(const Context&)>& work) {
  std::exception_ptr failure;
  done_ = false;
  cancel_.store(false, std::memory_order_relaxed);
  {
    const nb::gil_scoped_release release;
    std::thread worker([&] {
      try {
        work(MakeCallContext(ranks));
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
      changed_.notify_all();
    });
    std::unique_lock<std::mutex> lock(mutex_);
    while (!done_) {
      changed_.wait_for(lock, kSignalPollInterval, [&] { return done_ || asked_ != nullptr; });
      if (done_) break;
      const std::function<void()>* body = asked_;
      lock.unlock();
      Attend(body);
      lock.lock();
      if (body == nullptr) continue;
      asked_ = nullptr;
      changed_.notify_all();
    }
    lock.unlock();
    worker.join();
  }
  if (ranks != nullptr) EndRanks(*ranks, failure);
  if (raised_ != nullptr) {
    const std::unique_ptr<nb::python_error> raised = std::move(raised_);
    throw nb::python_error(std::move(*raised));
  }
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  if (failure) std::rethrow_exception(failure);
}

void Call::Ask(const std::function<void()>& body) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return asked_ == nullptr; });
  asked_ = &body;
  changed_.notify_all();
  changed_.wait(lock, [&] { return asked_ != &body; });
  if (cancel_.load(std::memory_order_relaxed)) throw Error(ErrorKind::kCancelled, "stopped by the caller");
}

void Notify(Call& call, const nb::object& callable, const std::function<nb::object()>& argument) {
  if (callable.is_none()) return;
  call.Ask([&] { callable(argument()); });
}

void BindCall(nb::module_& module) {
  nb::class_<Call>(module, "Call", "How a call computes, and whom it tells.")
      .def(nb::init<const Overrides&, nb::object, nb::object, nb::object, std::shared_ptr<RanksHandle>>(),
           nb::arg("machine"), nb::arg("progress").none() = nb::none(), nb::arg("note").none() = nb::none(),
           nb::arg("warning").none() = nb::none(), nb::arg("ranks").none() = nb::none());
}

}  // namespace l2gcn::python
