// Memory in files, for runs under a memory budget (Context::host_memory).
//
// It has three parts. Scratch blocks are arrays in an unnamed file, so that nothing is left behind however the process
// ends. Direct reads of mapped arrays bypass the page cache, for passes over a graph or features. A watch keeps mapped
// pages within the budget: a thread checks the resident size of the process every millisecond and, when that comes close to
// the budget, releases the pages of all watched mappings, which are read again from their files on access. Code that walks
// over a mapped array therefore needs no knowledge of the budget.
//
// Guarantees: only ranges that the system reports as file mappings are ever released. A full disk is an Error(kRuntime)
// with the figures and never a signal, because blocks have their space before they are mapped. All calls may come from
// any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/disk_use.h"
#include "core/files.h"
#include "l2gcn/array.h"

namespace l2gcn {

// A number of bytes for people: GiB from one on, MiB below.
std::string SizeText(uint64_t bytes);

// Space for one aligned read.
class DiskBuffer {
 public:
  char* Reserve(size_t bytes);  // at least so many, at a page's boundary; what was there is lost
  size_t capacity() const { return capacity_; }

 private:
  std::unique_ptr<char, void (*)(void*)> memory_{nullptr, std::free};
  size_t capacity_ = 0;
};

// How the phase of a progress line begins that only says how much was moved.
inline constexpr const char* kPhaseOnDisk = "from disk";

// Bytes that went to and from files.
struct DiskCounters {
  std::atomic<uint64_t> read{0}, written{0};
};

// A scratch file without a name, for whole pages at page boundaries.
class ScratchPages {
 public:
  static constexpr size_t kPage = 4096;

  explicit ScratchPages(const std::filesystem::path& directory,
                        std::shared_ptr<DiskCounters> counters = nullptr);
  // `bytes` and `offset` are multiples of kPage, `data` is aligned to it.
  void Write(uint64_t offset, const void* data, size_t bytes);
  void Read(uint64_t offset, size_t bytes, void* data) const;

 private:
  std::filesystem::path directory_;
  Descriptor file_;
  std::shared_ptr<DiskCounters> counters_;  // may be null
};

// A scratch file without a name that is appended to and then read at any place, through the page cache.
class ScratchBytes {
 public:
  explicit ScratchBytes(const std::filesystem::path& directory,
                        std::shared_ptr<DiskCounters> counters = nullptr);
  void Append(const char* data, size_t bytes);
  void Read(uint64_t offset, size_t bytes, char* to) const;

 private:
  std::filesystem::path directory_;
  Descriptor file_;
  uint64_t size_ = 0;
  std::shared_ptr<DiskCounters> counters_;  // may be null
};

class DiskMemory : public std::enable_shared_from_this<DiskMemory> {
 public:
  // `budget` in bytes for the whole process. Throws Error(kUsage) if no file can be made in `directory`. What killed
  // processes left there is removed.
  DiskMemory(uint64_t budget, std::filesystem::path directory);
  ~DiskMemory();
  DiskMemory(const DiskMemory&) = delete;
  DiskMemory& operator=(const DiskMemory&) = delete;

  // What of a budget is never allocated: room for mapped pages, and for what happens between two checks of the watch.
  static uint64_t Reserve(uint64_t budget);

  uint64_t budget() const { return budget_; }
  const std::filesystem::path& directory() const { return directory_; }
  // What may still be allocated in memory: the budget less what the process holds that is not mapped from files, and
  // less some room for mapped pages.
  uint64_t Free() const;

  // A block of zeros in scratch; it may be written. It keeps this object, which a shared pointer must hold.
  std::shared_ptr<void> NewBlock(size_t bytes);
  template <class T>
  Array<T> NewArray(size_t size) {
    return Array<T>::Adopt(size == 0 ? nullptr : NewBlock(size * sizeof(T)), size);
  }
  // Whole pages of a block, from memory that begins at a page's boundary: they go to the file past the page cache. False,
  // and nothing is done, where `to` lies in no block. Pages of the same block must not be written through memory at the
  // same time.
  bool WritePages(void* to, const char* from, size_t bytes) const;
  ScratchPages NewPages() const { return ScratchPages(directory_, counters_); }
  ScratchBytes NewBytes() const { return ScratchBytes(directory_, counters_); }

  // What was moved so far. The plan's part comes from SetPlan.
  DiskUse Use() const;
  void SetPlan(uint64_t bytes, double read_rate, double write_rate);
  // A panel of columns was aggregated since `before`, in so many seconds.
  void CountPanel(const DiskUse& before, double seconds);

  // Watches a mapped array until this object goes. Does nothing where the array is not mapped from a file.
  template <class T>
  void Watch(const Array<T>& array) {
    WatchRange(array.data(), array.bytes());
  }
  // Lets go of watched pages if the process is near its budget. The watch does so by itself, but it may come late on a
  // busy machine; loops over much memory call this between their pieces (ParallelFor does).
  void Relax();
  // `bytes` bytes that lie at `from`: read from the file where `from` is watched, else copied. The result lies in
  // `buffer` and is valid until its next use.
  const char* Fetch(const void* from, size_t bytes, DiskBuffer& buffer) const;
  // The same, but what is not watched stays where it lies: for passes that look at bytes once.
  const char* View(const void* from, size_t bytes, DiskBuffer& buffer) const;
  template <class T>
  const T* Fetch(const Array<T>& array, size_t first, size_t count, DiskBuffer& buffer) const {
    return reinterpret_cast<const T*>(Fetch(array.data() + first, count * sizeof(T), buffer));
  }

 private:
  struct Range {
    size_t bytes;           // from the address it is filed under
    uint64_t offset;        // of that address in the file
    Descriptor file;        // open for reading, past the page cache if possible, or invalid
    bool is_block = false;  // of scratch; the file may be written, too
  };

  // The file and the offset in it of watched bytes; nothing where they are not watched, or not in one file.
  struct Place {
    int file;
    uint64_t offset;
    bool is_block;
  };
  std::optional<Place> FindPlace(const void* from, size_t bytes) const;
  void WatchRange(const void* begin, size_t bytes);
  void KeepUnderBudget();

  const uint64_t budget_;
  const std::filesystem::path directory_;
  const Descriptor statm_;
  mutable std::mutex mutex_;
  std::map<uintptr_t, Range> ranges_;  // by address
  std::condition_variable end_;
  bool ending_ = false;
  std::thread watcher_;
  const std::shared_ptr<DiskCounters> counters_ = std::make_shared<DiskCounters>();
  DiskUse use_;  // but for the counters
  const Stopwatch watch_;
};

// Sequential rates of a folder's disk past the page cache, in bytes a second, from one short file: 64 MiB, or half of
// what is free.
struct DiskRates {
  double read = 0, write = 0;
};
DiskRates MeasureDisk(const std::filesystem::path& directory);

// Elements first … first + count − 1 of an array for a pass over it: read past the page cache into `buffer` where the
// context watches the array, else where they lie. Valid until the next use of `buffer`.
template <class T>
const T* ViewOf(const std::shared_ptr<DiskMemory>& disk, const Array<T>& array, size_t first, size_t count,
                DiskBuffer& buffer) {
  const T* const from = array.data() + first;
  return disk == nullptr ? from : reinterpret_cast<const T*>(disk->View(from, count * sizeof(T), buffer));
}

// In scratch if there is a budget and the array is large, else in memory; not initialised.
template <class T>
Array<T> LargeArray(const std::shared_ptr<DiskMemory>& disk, size_t size) {
  constexpr size_t kLargeBytes = size_t{1} << 20;
  return disk != nullptr && size * sizeof(T) >= kLargeBytes ? disk->NewArray<T>(size)
                                                            : Array<T>::Allocate(size);
}

}  // namespace l2gcn
