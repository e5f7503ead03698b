#include "core/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/error_format.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

void SyncPath(const fs::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;  // a file system without directory handles: the rename is all we get
  fsync(descriptor);
  close(descriptor);
}

void WriteFully(int descriptor, const char* data, size_t bytes, int64_t offset, const fs::path& path) {
  while (bytes > 0) {
    const ssize_t done =
        offset < 0 ? write(descriptor, data, bytes) : pwrite(descriptor, data, bytes, offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      ThrowRuntime("{}: cannot write: {}; free some space or choose another output", path.string(),
                   std::strerror(errno));
    }
    data += done;
    bytes -= static_cast<size_t>(done);
    if (offset >= 0) offset += done;
  }
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::Open(const fs::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) ThrowInput("{}: cannot open: {}", path.string(), std::strerror(errno));
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor);
    ThrowInput("{}: expected a regular file", path.string());
  }
  auto file = std::shared_ptr<MappedFile>(new MappedFile);
  file->path_ = path;
  file->size_ = static_cast<size_t>(status.st_size);
  if (file->size_ > 0) {
    void* data = mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    const int reason = errno;
    close(descriptor);
    if (data == MAP_FAILED) ThrowInput("{}: cannot map: {}", path.string(), std::strerror(reason));
    file->data_ = static_cast<const uint8_t*>(data);
  } else {
    close(descriptor);
  }
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<uint8_t*>(data_), size_);
}

std::string ReadTextFile(const fs::path& path) { return std::string(MappedFile::Open(path)->text()); }

FileWriter::FileWriter(const fs::path& path) : path_(path) {
  descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) ThrowRuntime("{}: cannot create: {}", path.string(), std::strerror(errno));
  buffer_.reserve(kBufferBytes);
}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0) close(descriptor_);
}

void FileWriter::Write(const void* data, size_t bytes) {
  written_ += bytes;
  if (buffer_.size() + bytes > kBufferBytes) Flush();
  if (bytes >= kBufferBytes) {
    WriteFully(descriptor_, static_cast<const char*>(data), bytes, -1, path_);
  } else {
    buffer_.append(static_cast<const char*>(data), bytes);
  }
}

void FileWriter::WriteAt(uint64_t offset, const void* data, size_t bytes) {
  Flush();
  WriteFully(descriptor_, static_cast<const char*>(data), bytes, static_cast<int64_t>(offset), path_);
}

void FileWriter::Flush() {
  WriteFully(descriptor_, buffer_.data(), buffer_.size(), -1, path_);
  buffer_.clear();
}

void FileWriter::Close(bool sync) {
  Flush();
  const int sync_status = sync ? fsync(descriptor_) : 0;
  const int sync_reason = errno;
  const int close_status = close(descriptor_);
  descriptor_ = -1;
  if (sync_status != 0 || close_status != 0) {
    ThrowRuntime("{}: cannot finish writing: {}", path_.string(),
                 std::strerror(sync_status != 0 ? sync_reason : errno));
  }
}

void ReplaceFile(const fs::path& path, const std::function<void(const fs::path&)>& write) {
  const fs::path aside = path.string() + fmt::format(".tmp-{}", getpid());
  try {
    write(aside);
    fs::rename(aside, path);
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    fs::remove(aside, ignored);
    ThrowRuntime("{}: cannot put in place: {}", path.string(), error.code().message());
  } catch (...) {
    std::error_code ignored;
    fs::remove(aside, ignored);
    throw;
  }
  SyncPath(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

void WriteFileWhole(const fs::path& path, std::string_view content) {
  ReplaceFile(path, [&](const fs::path& aside) {
    FileWriter writer(aside);
    writer.Write(content);
    writer.Close();
  });
}

StagedDirectory::StagedDirectory(fs::path target, bool replace)
    : target_(std::move(target)), replace_(replace) {
  while (!target_.has_filename() && target_.has_parent_path()) target_ = target_.parent_path();
  std::error_code error;
  if (fs::exists(target_, error) && !replace_) {
    ThrowUsage("{}: exists already; choose another output or pass --force to replace it", target_.string());
  }
  const fs::path parent = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  fs::create_directories(parent, error);
  if (error) ThrowUsage("{}: cannot create the directory: {}", parent.string(), error.message());
  staging_ = parent / fmt::format(".{}.tmp-{}", target_.filename().string(), getpid());
  fs::remove_all(staging_, error);
  fs::create_directory(staging_, error);
  if (error) ThrowUsage("{}: output directory is not writable: {}", parent.string(), error.message());
}

StagedDirectory::~StagedDirectory() {
  if (committed_) return;
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
}

void StagedDirectory::Commit() {
  SyncPath(staging_);
  std::error_code error;
  const bool exchange = replace_ && fs::exists(target_, error);
  // Exchanging the two names leaves no moment without a whole directory at the target.
  const unsigned flags = exchange ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, target_.c_str(), flags) != 0) {
    ThrowRuntime("{}: cannot put the new directory in place: {}", target_.string(), std::strerror(errno));
  }
  committed_ = true;
  SyncPath(staging_.parent_path());
  if (exchange) fs::remove_all(staging_, error);
}

}  // namespace l2gcn
