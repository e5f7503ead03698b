// Files without surprises: mapped reading, and writing that is whole or absent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace l2gcn {

// A whole file mapped read-only. Throws Error(kInput) naming the path and the reason.
class MappedFile {
 public:
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
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

std::string ReadTextFile(const std::filesystem::path& path);

// Sequential writer; every failed write or sync throws Error(kRuntime) with path and reason.
class FileWriter {
 public:
  explicit FileWriter(const std::filesystem::path& path);
  ~FileWriter();
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
  int descriptor_ = -1;
  uint64_t written_ = 0;
  std::string buffer_;
};

// One file, replaced whole: `write` makes it at the path it is given, beside its place; then it is renamed.
// If anything fails the old file stays and the new one is gone.
void ReplaceFile(const std::filesystem::path& path,
                 const std::function<void(const std::filesystem::path& aside)>& write);
void WriteFileWhole(const std::filesystem::path& path, std::string_view content);

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
  bool replace_;
  bool committed_ = false;
};

}  // namespace l2gcn
