// Reads files with clear errors and writes them atomically.
//
// A file is first written aside, under a name nobody can guess (`.NAME.tmp-` and 16 random hexadecimal
// digits, made with O_EXCL | O_NOFOLLOW), is synced, and is renamed. The writer holds a lock (flock) on it,
// which the system drops when the process ends, however it ends: so the next writer of the same name can tell
// what a killed process left behind from what is being written now, and removes it. Symbolic links are
// followed; devices, fifos and sockets are never replaced; a replaced file keeps its mode.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace l2gcn {

struct Context;

// Where files go that no run leaves behind: the context's scratch directory, or the system's temporary
// folder.
std::filesystem::path ScratchDirectory(const Context& context);

// A whole file, read-only. Files of up to kCopiedBytes are read into memory, which nothing that happens to
// the file later can disturb; larger ones are mapped, and reading one that another program cuts short raises
// SIGBUS, which the program turns into a message (apps/l2gcn/bus_error.h). Throws Error(kInput) naming the
// path and the reason; a fifo, a device or a directory is refused without waiting.
class MappedFile {
 public:
  static constexpr size_t kCopiedBytes = size_t{4} << 20;

  static std::shared_ptr<const MappedFile> Open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const uint8_t> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile() = default;
  std::filesystem::path path_;
  std::shared_ptr<void> copy_;  // of a small file; else it is mapped
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

std::string ReadTextFile(const std::filesystem::path& path);

// A descriptor that is closed at the end.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }
  int Release() {
    const int number = number_;
    number_ = -1;
    return number;
  }

 private:
  int number_ = -1;
};

// A regular file opened for reading; neither fifos nor devices make it wait. Throws Error(kInput).
Descriptor OpenRegularFile(const std::filesystem::path& path);

// Sequential writer; every failed write or sync throws Error(kRuntime) with path and reason. Never follows a
// symbolic link.
class FileWriter {
 public:
  explicit FileWriter(const std::filesystem::path& path);
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  void Write(const void* data, size_t bytes);
  void Write(std::string_view text) { Write(text.data(), text.size()); }
  // Overwrites bytes already written (a header whose counts are known last).
  void WriteAt(uint64_t offset, const void* data, size_t bytes);
  uint64_t written() const { return written_; }
  // Flushes, fsyncs and closes. Without `sync` there is no fsync: for scratch files, which nobody reads after a
  // crash.
  void Close(bool sync = true);

 private:
  void Flush();
  std::filesystem::path path_;
  Descriptor descriptor_;
  uint64_t written_ = 0;
  std::string buffer_;
};

// Whether a file or directory belongs to a living process: an exclusive flock of it. `path` must exist and be
// no symbolic link; nothing if another process holds it or it is gone.
std::optional<Descriptor> TryLock(const std::filesystem::path& path);

// Where `path` leads: symbolic links in its last part are followed, also to what does not exist yet, and a
// trailing slash is dropped.
std::filesystem::path OutputTarget(const std::filesystem::path& path);

// Whether a file can be put at `path`: asked before the work begins. Throws Error(kUsage) for a directory, a
// device, a fifo, a folder that is missing or not writable and, unless `replace`, for a file that exists.
void CheckOutputFile(const std::filesystem::path& path, bool replace);

// One file, replaced whole: `write` makes it at the path it is given, beside its place; then it is renamed.
// If anything fails the old file stays and the new one is gone. Unless `replace`, a file that has appeared
// meanwhile is left alone, and that is an Error(kRuntime).
void ReplaceFile(const std::filesystem::path& path,
                 const std::function<void(const std::filesystem::path& aside)>& write, bool replace = true);
void WriteFileWhole(const std::filesystem::path& path, std::string_view content);

// Syncs a directory. Throws Error(kRuntime) if the system reports that it could not be done.
void SyncDirectory(const std::filesystem::path& directory);

// Puts the directory `from` at `to` in one step: `to` may be absent or empty; a full one is exchanged and
// then removed if `replace`, else Error(kRuntime) and `from` stays. There is no moment without a whole
// directory.
void PlaceDirectory(const std::filesystem::path& from, const std::filesystem::path& to, bool replace);

// A directory built aside and put in place in one rename by Commit(); gone without a trace if not committed.
// If `replace`, an existing directory at the target is swapped out and removed only after the new one stands.
class StagedDirectory {
 public:
  StagedDirectory(std::filesystem::path target, bool replace);
  ~StagedDirectory();
  StagedDirectory(const StagedDirectory&) = delete;
  StagedDirectory& operator=(const StagedDirectory&) = delete;
  const std::filesystem::path& path() const { return staging_; }
  void Commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path staging_;
  Descriptor lock_;
  bool replace_;
  bool committed_ = false;
};

}  // namespace l2gcn
