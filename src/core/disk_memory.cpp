#include "core/disk_memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/error_format.h"
#include "core/mapping.h"
#include "core/memory_meter.h"
#include "core/scratch_folder.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr size_t kPageBytes = ScratchPages::kPage;
constexpr size_t kOneRead = size_t{8} << 20;
constexpr auto kWatchEvery = std::chrono::milliseconds(1);
constexpr double kSecondsBetweenReturns = 0.05;  // of free memory, which takes the heap's locks

size_t PagesUp(size_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

// Mapped pages may stay until the process comes this close to its budget.
uint64_t WatchMargin(uint64_t budget) {
  return std::clamp<uint64_t>(budget / 12, uint64_t{8} << 20, uint64_t{128} << 20);
}

// Large blocks that are freed go back to the system at once. Else the C library learns from those it sees to keep ever
// more: of a budget of 100 MiB, 25 were free memory of the heap. Smaller ones are used again and again, and clearing fresh
// pages for them would take a fifth of a run's processor time.
void KeepHeapTight() {
#ifdef __GLIBC__
  constexpr int kLargeBlock = 4 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargeBlock);
  mallopt(M_TRIM_THRESHOLD, kLargeBlock);
#endif
}

[[noreturn]] void ThrowScratch(const fs::path& directory, const char* what, int error, uint64_t bytes) {
  struct statvfs space {};
  if (error == ENOSPC && statvfs(directory.c_str(), &space) == 0) {
    ThrowRuntime(
        "{}: no space for scratch: {} more are needed and {} are free; free some, or name another place with "
        "--scratch",
        directory.string(), SizeText(bytes), SizeText(space.f_bavail * space.f_frsize));
  }
  ThrowRuntime("{}: cannot {} scratch: {}{}", directory.string(), what, std::strerror(error),
               error == EFBIG ? "; raise the limit on file sizes (ulimit -f)" : "");
}

// A file that has no name from the beginning, or at once.
Descriptor OpenScratch(const fs::path& directory, int flags) {
  Descriptor file(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600));
  if (file.valid()) return file;
  std::string name = (directory / "l2gcn-scratch-XXXXXX").string();
  const int descriptor = mkostemp(name.data(), O_CLOEXEC | flags);
  const int error = errno;
  if (descriptor >= 0) unlink(name.c_str());
  errno = error;
  return Descriptor(descriptor);
}

Descriptor OpenScratchDirect(const fs::path& directory) {
  Descriptor file = OpenScratch(directory, O_DIRECT);
  return file.valid() ? std::move(file) : OpenScratch(directory, 0);
}

// The same file, to be read past the page cache where that can be had.
Descriptor OpenMapped(const Mapping& mapping) {
  for (const int flags : {O_DIRECT, 0}) {
    Descriptor file(open(mapping.path.c_str(), O_RDONLY | O_CLOEXEC | flags));
    struct stat status {};
    if (file.valid() && fstat(file.get(), &status) == 0 && status.st_ino == mapping.inode) return file;
  }
  return {};
}

// The same for a file that is open and may have no name.
Descriptor OpenDirectly(const Descriptor& file) {
  return Descriptor(open(fmt::format("/proc/self/fd/{}", file.get()).c_str(), O_RDWR | O_CLOEXEC | O_DIRECT));
}

// The name of an open file; a number where the system does not say.
std::string NameOf(int file) {
  std::error_code error;
  const std::string link = fmt::format("/proc/self/fd/{}", file);
  const fs::path name = fs::read_symlink(link, error);
  return error ? link : name.string();
}

// Reads until `least` of `bytes` are there: a read past the page cache may go beyond the end of the file.
void ReadWhole(int file, uint64_t offset, size_t least, size_t bytes, char* to) {
  size_t done = 0;
  while (done < least) {
    const ssize_t got =
        pread(file, to + done, std::min(bytes - done, kOneRead), static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) ThrowRuntime("{}: cannot read: {}", NameOf(file), std::strerror(errno));
    if (got == 0) {
      ThrowRuntime("{}: became shorter while it was read; run again once the file is whole", NameOf(file));
    }
    done += static_cast<size_t>(got);
  }
}

void WriteWhole(const fs::path& directory, int file, uint64_t offset, const char* from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t put =
        pwrite(file, from + done, std::min(bytes - done, kOneRead), static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) ThrowScratch(directory, "write", put < 0 ? errno : EIO, bytes - done);
    done += static_cast<size_t>(put);
  }
}

uint64_t ResidentPages(int statm) {
  char text[128] = {};
  if (pread(statm, text, sizeof(text) - 1, 0) <= 0) return 0;
  uint64_t size = 0, resident = 0;
  std::sscanf(text, "%" SCNu64 " %" SCNu64, &size, &resident);
  return resident;
}

// Whether a process has come so close to its budget that pages have to go.
bool IsNear(uint64_t budget, const Descriptor& statm) {
  const uint64_t most = budget - std::min(budget, WatchMargin(budget));
  return statm.valid() && ResidentPages(statm.get()) * kPageBytes > most;
}

}  // namespace

std::string SizeText(uint64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / kMiB;
  return mebibytes >= 1024 ? fmt::format("{:.2f} GiB", mebibytes / 1024)
                           : fmt::format("{:.1f} MiB", mebibytes);
}

char* DiskBuffer::Reserve(size_t bytes) {
  if (bytes <= capacity_) return memory_.get();
  memory_.reset();
  capacity_ = PagesUp(bytes);
  memory_.reset(static_cast<char*>(std::aligned_alloc(kPageBytes, capacity_)));
  if (memory_ == nullptr) {
    capacity_ = 0;
    throw Error(ErrorKind::kRuntime, OutOfMemoryMessage(bytes));
  }
  return memory_.get();
}

ScratchPages::ScratchPages(const fs::path& directory, std::shared_ptr<DiskCounters> counters)
    : directory_(directory), file_(OpenScratchDirect(directory)), counters_(std::move(counters)) {
  if (!file_.valid()) ThrowScratch(directory_, "make a file for", errno, 0);
}

void ScratchPages::Write(uint64_t offset, const void* data, size_t bytes) {
  WriteWhole(directory_, file_.get(), offset, static_cast<const char*>(data), bytes);
  if (counters_ != nullptr) counters_->written += bytes;
}

void ScratchPages::Read(uint64_t offset, size_t bytes, void* data) const {
  ReadWhole(file_.get(), offset, bytes, bytes, static_cast<char*>(data));
  if (counters_ != nullptr) counters_->read += bytes;
}

ScratchBytes::ScratchBytes(const fs::path& directory, std::shared_ptr<DiskCounters> counters)
    : directory_(directory), file_(OpenScratch(directory, 0)), counters_(std::move(counters)) {
  if (!file_.valid()) ThrowScratch(directory_, "make a file for", errno, 0);
}

void ScratchBytes::Append(const char* data, size_t bytes) {
  WriteWhole(directory_, file_.get(), size_, data, bytes);
  size_ += bytes;
  if (counters_ != nullptr) counters_->written += bytes;
}

void ScratchBytes::Read(uint64_t offset, size_t bytes, char* to) const {
  ReadWhole(file_.get(), offset, bytes, bytes, to);
  if (counters_ != nullptr) counters_->read += bytes;
}

DiskMemory::DiskMemory(uint64_t budget, fs::path directory)
    : budget_(budget),
      directory_(std::move(directory)),
      statm_(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {
  if (!OpenScratch(directory_, 0).valid()) {
    ThrowUsage("--scratch {}: no file can be made there: {}; name a folder on a disk with room",
               directory_.string(), std::strerror(errno));
  }
  ScratchFolder::RemoveLeftOvers(directory_);
  KeepHeapTight();
  watcher_ = std::thread([this] { KeepUnderBudget(); });
}

DiskMemory::~DiskMemory() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  end_.notify_all();
  watcher_.join();
}

uint64_t DiskMemory::Reserve(uint64_t budget) { return 3 * WatchMargin(budget) / 2; }

uint64_t DiskMemory::Free() const {
  const uint64_t held = AnonymousBytes() + Reserve(budget_);
  return budget_ > held ? budget_ - held : 0;
}

std::shared_ptr<void> DiskMemory::NewBlock(size_t bytes) {
  const size_t whole = PagesUp(bytes);
  Descriptor file = OpenScratch(directory_, 0);
  if (!file.valid()) ThrowScratch(directory_, "make a file for", errno, whole);
  if (const int error = posix_fallocate(file.get(), 0, static_cast<off_t>(whole)); error != 0)
    ThrowScratch(directory_, "have", error, whole);
  void* memory = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) ThrowScratch(directory_, "map", errno, whole);
  if (Descriptor direct = OpenDirectly(file); direct.valid()) file = std::move(direct);
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  {
    const std::lock_guard lock(mutex_);
    ranges_.emplace(begin, Range{whole, 0, std::move(file), true});
  }
  return std::shared_ptr<void>(memory, [self = shared_from_this(), begin, whole](void* block) {
    {
      const std::lock_guard lock(self->mutex_);
      self->ranges_.erase(begin);
    }
    munmap(block, whole);
  });
}

void DiskMemory::WatchRange(const void* begin, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  if (bytes == 0) return;
  const std::optional<Mapping> mapping = FindMapping(address);
  if (!mapping || mapping->inode == 0 || address + bytes > mapping->end) return;
  const std::lock_guard lock(mutex_);
  ranges_.try_emplace(mapping->begin,
                      Range{mapping->end - mapping->begin, mapping->offset, OpenMapped(*mapping)});
}

std::optional<DiskMemory::Place> DiskMemory::FindPlace(const void* from, size_t bytes) const {
  const auto address = reinterpret_cast<uintptr_t>(from);
  const std::lock_guard lock(mutex_);
  auto range = ranges_.upper_bound(address);
  if (range == ranges_.begin()) return std::nullopt;
  --range;
  if (!range->second.file.valid() || address + bytes > range->first + range->second.bytes)
    return std::nullopt;
  const Range& found = range->second;
  return Place{found.file.get(), found.offset + (address - range->first), found.is_block};
}

bool DiskMemory::WritePages(void* to, const char* from, size_t bytes) const {
  const std::optional<Place> place = FindPlace(to, bytes);
  if (!place || !place->is_block) return false;
  WriteWhole(directory_, place->file, place->offset, from, bytes);
  counters_->written += bytes;
  return true;
}

const char* DiskMemory::Fetch(const void* from, size_t bytes, DiskBuffer& buffer) const {
  const char* const seen = View(from, bytes, buffer);
  if (seen != from) return seen;
  char* const to = buffer.Reserve(std::max<size_t>(bytes, 1));
  if (bytes > 0) std::memcpy(to, from, bytes);
  return to;
}

const char* DiskMemory::View(const void* from, size_t bytes, DiskBuffer& buffer) const {
  const std::optional<Place> place = FindPlace(from, bytes);
  if (!place) return static_cast<const char*>(from);
  const uint64_t aligned = place->offset / kPageBytes * kPageBytes;
  const size_t lead = place->offset - aligned;
  char* const to = buffer.Reserve(PagesUp(lead + bytes));
  ReadWhole(place->file, aligned, lead + bytes, PagesUp(lead + bytes), to);
  counters_->read += lead + bytes;
  return to + lead;
}

DiskUse DiskMemory::Use() const {
  const std::lock_guard lock(mutex_);
  DiskUse use = use_;
  use.seconds = watch_.Seconds();
  use.read_bytes = counters_->read;
  use.written_bytes = counters_->written;
  return use;
}

void DiskMemory::SetPlan(uint64_t bytes, double read_rate, double write_rate) {
  const std::lock_guard lock(mutex_);
  use_.planned_bytes = bytes;
  use_.read_rate = read_rate;
  use_.write_rate = write_rate;
}

void DiskMemory::CountPanel(const DiskUse& before, double seconds) {
  const std::lock_guard lock(mutex_);
  ++use_.panels;
  use_.panel_read_bytes += counters_->read - before.read_bytes;
  use_.panel_written_bytes += counters_->written - before.written_bytes;
  use_.panel_seconds += seconds;
}

DiskRates MeasureDisk(const fs::path& directory) {
  constexpr size_t kPiece = size_t{4} << 20;
  constexpr uint64_t kMostPieces = 16;
  struct statvfs space {};
  const bool known = statvfs(directory.c_str(), &space) == 0;
  const uint64_t room = known ? space.f_bavail * space.f_frsize / 2 / kPiece : kMostPieces;
  const uint64_t pieces = std::clamp<uint64_t>(room, 1, kMostPieces);
  DiskBuffer buffer;
  std::memset(buffer.Reserve(kPiece), 1, kPiece);
  ScratchPages file(directory);
  Stopwatch writing;
  for (uint64_t piece = 0; piece < pieces; ++piece)
    file.Write(piece * kPiece, buffer.Reserve(kPiece), kPiece);
  DiskRates rates;
  rates.write = static_cast<double>(pieces * kPiece) / std::max(writing.Seconds(), 1e-6);
  Stopwatch reading;
  for (uint64_t piece = 0; piece < pieces; ++piece) file.Read(piece * kPiece, kPiece, buffer.Reserve(kPiece));
  rates.read = static_cast<double>(pieces * kPiece) / std::max(reading.Seconds(), 1e-6);
  return rates;
}

void DiskMemory::Relax() {
  if (!IsNear(budget_, statm_)) return;
  const std::lock_guard lock(mutex_);
  for (const auto& [begin, range] : ranges_)
    madvise(reinterpret_cast<void*>(begin), range.bytes, MADV_DONTNEED);
}

void DiskMemory::KeepUnderBudget() {
  std::unique_lock lock(mutex_);
  Stopwatch since_return;
  while (!ending_) {
    end_.wait_for(lock, kWatchEvery);
    lock.unlock();
    Relax();
    if (IsNear(budget_, statm_) && since_return.Seconds() > kSecondsBetweenReturns) {
      ReturnFreeMemory();
      since_return = Stopwatch();
    }
    lock.lock();
  }
}

}  // namespace l2gcn
