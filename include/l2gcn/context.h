// What travels with every call: threads, device, limits of memory, the wish to stop, and where progress goes.
//
// Two Contexts in one process do not know of each other, but for what belongs to the process or the thread:
// the variables L2GCN_DATA and L2GCN_SIMD are read from the environment where they matter, the peak of
// resident memory is the whole process's, and CUDA's current device is the calling thread's.
//
// One Context may be used by several threads at once. Its helpers then serve one of them at a time and the
// others work alone; results stay the same to the last bit. Each calling thread calls on_progress, on_note
// and on_warning for its own work, so these must be safe to call from several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace l2gcn {

class ThreadPool;
class DiskMemory;
class Ranks;

enum class DeviceKind { kCpu, kCuda };

// One line of a training's life, for a progress display.
struct Progress {
  const char* phase = "";  // "load", "aggregate", "train", "transform", "evaluate", "search", …
  uint32_t layer = 0;      // 1-based; 0 where there is none
  uint32_t layers = 0;
  uint32_t epoch = 0;   // done so far in this layer (rounds in a search)
  uint32_t epochs = 0;  // at most this many
  double loss = 0;
  double nodes_per_second = 0;
  double seconds_left = 0;       // to the end of the work, if every layer runs to its cap; 0: not known
  bool at_most = false;          // a layer may end before its cap: seconds_left is an upper bound
  double stop_probability = -1;  // the controller's; negative where there is none
  // What this layer has done so far; valid during the call alone.
  std::span<const double> losses;  // of every epoch
  std::span<const std::pair<uint32_t, double>>
      probabilities;              // (epoch, stopping probability) of every decision
  uint32_t validation_epoch = 0;  // of the latest score of the validation nodes; 0: there is none
  double validation_f1 = 0;
  // Work in several parts (core/work_parts.h): which of them it is, outermost first, as "method 2/5  seed 1/3".
  std::string parts;
};

struct Context {
  std::shared_ptr<ThreadPool> pool;
  uint32_t threads = 1;
  DeviceKind device = DeviceKind::kCpu;
  uint32_t device_index = 0;         // which of several GPUs; after the last one the first is counted again
  bool device_is_automatic = false;  // nobody asked for it: the CPU takes what it cannot do or does slower
  uint64_t device_memory = 0;        // budget in bytes for --device cuda; 0: what the GPU has free
  uint64_t host_memory = 0;          // budget in bytes of the whole process; 0: what the machine has
  std::string scratch_directory;     // for files that outlive no run; empty: the system's temporary folder
  std::shared_ptr<DiskMemory>
      disk;                      // where what does not fit into the budget goes; null: all is kept in memory
  std::shared_ptr<Ranks> ranks;  // processes that share the work (l2gcn/ranks.h); null: this one is alone
  std::string local_data;        // where each machine of several keeps a copy of the data set; empty: nowhere
  const std::atomic<bool>* cancel = nullptr;         // set by the caller to stop at the next step
  std::function<void(const Progress&)> on_progress;  // may be empty
  // One sentence for the user about a choice or a change; may be empty.
  std::function<void(const std::string&)> on_note;
  std::function<void(const std::string&)> on_warning;  // may be empty

  // Throws Error(kCancelled) once the caller asked to stop.
  void CheckCancelled() const;
  void Note(const std::string& text) const {
    if (on_note) on_note(text);
  }
  void Warn(const std::string& text) const {
    if (on_warning) on_warning(text);
  }
};

// Cores this process may use.
uint32_t UsableCores();

// "cpu", "cuda", or "auto": CUDA where this build and machine have it. Throws Error(kUsage) for anything
// else, and for a device that cannot be used, with the reason.
DeviceKind ChooseDevice(const std::string& name);
// The same on a thread of its own, which then makes the device ready: a GPU's driver takes a quarter of a second for that,
// in which the caller can open a data set. The function returned waits for the choice, and can be called once; who uses
// the device first waits until it is ready, and so does the end of the function's last copy.
std::function<DeviceKind()> StartDevice(const std::string& name,
                                        uint32_t index = 0);  // as Context::device_index

// The name of a device as ChooseDevice takes it, and the names of all devices this program knows.
std::string DeviceName(DeviceKind device);
std::vector<std::string> DeviceNames();

// A context with its own threads (0: one per core this process may use).
Context MakeContext(uint32_t threads = 0);

// A copy of `context` that works on the calling thread alone: for use inside a parallel region.
Context SingleThreaded(const Context& context);

}  // namespace l2gcn
