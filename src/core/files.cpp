#include "core/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/error_format.h"
#include "l2gcn/array.h"
#include "l2gcn/context.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

const char* WriteAdvice(int error) {
  return error == EFBIG ? "raise the limit on file sizes (ulimit -f)"
                        : "free some space or choose another output";
}

void WriteFully(int descriptor, const char* data, size_t bytes, int64_t offset, const fs::path& path) {
  while (bytes > 0) {
    const ssize_t done =
        offset < 0 ? write(descriptor, data, bytes) : pwrite(descriptor, data, bytes, offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      ThrowRuntime("{}: cannot write: {}; {}", path.string(), std::strerror(errno), WriteAdvice(errno));
    }
    data += done;
    bytes -= static_cast<size_t>(done);
    if (offset >= 0) offset += done;
  }
}

void ReadFully(int descriptor, uint8_t* data, size_t bytes, const fs::path& path) {
  while (bytes > 0) {
    const ssize_t done = read(descriptor, data, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) ThrowInput("{}: cannot read: {}", path.string(), std::strerror(errno));
    if (done == 0) ThrowInput("{}: became shorter while it was read; is it being written?", path.string());
    data += done;
    bytes -= static_cast<size_t>(done);
  }
}

}  // namespace

std::filesystem::path ScratchDirectory(const Context& context) {
  if (!context.scratch_directory.empty()) return context.scratch_directory;
  const char* const named = std::getenv("TMPDIR");
  const fs::path path = named != nullptr && *named != '\0' ? named : "/tmp";
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    ThrowUsage("TMPDIR={}: is not a folder; set TMPDIR to one, or name a folder for scratch with --scratch",
               path.string());
  }
  return path;
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this == &other) return *this;
  if (number_ >= 0) close(number_);
  number_ = other.Release();
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Descriptor OpenRegularFile(const fs::path& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) ThrowInput("{}: cannot open: {}", path.string(), std::strerror(errno));
  struct stat status {};
  if (fstat(file.get(), &status) != 0) ThrowInput("{}: cannot open: {}", path.string(), std::strerror(errno));
  if (!S_ISREG(status.st_mode)) {
    ThrowInput("{}: is a {}; expected a regular file", path.string(),
               S_ISDIR(status.st_mode) ? "directory" : "fifo, device or socket");
  }
  return file;
}

std::shared_ptr<const MappedFile> MappedFile::Open(const fs::path& path) {
  const Descriptor descriptor = OpenRegularFile(path);
  struct stat status {};
  if (fstat(descriptor.get(), &status) != 0)
    ThrowInput("{}: cannot open: {}", path.string(), std::strerror(errno));
  auto file = std::shared_ptr<MappedFile>(new MappedFile);
  file->path_ = path;
  file->size_ = static_cast<size_t>(status.st_size);
  if (file->size_ == 0) return file;
  if (file->size_ <= kCopiedBytes) {
    file->copy_ = AllocateAligned(file->size_);
    ReadFully(descriptor.get(), static_cast<uint8_t*>(file->copy_.get()), file->size_, path);
    file->data_ = static_cast<const uint8_t*>(file->copy_.get());
    return file;
  }
  void* data = mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, descriptor.get(), 0);
  if (data == MAP_FAILED) ThrowInput("{}: cannot map: {}", path.string(), std::strerror(errno));
  file->data_ = static_cast<const uint8_t*>(data);
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr && copy_ == nullptr) munmap(const_cast<uint8_t*>(data_), size_);
}

std::string ReadTextFile(const fs::path& path) { return std::string(MappedFile::Open(path)->text()); }

FileWriter::FileWriter(const fs::path& path)
    : path_(path),
      descriptor_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666)) {
  if (!descriptor_.valid()) ThrowRuntime("{}: cannot create: {}", path.string(), std::strerror(errno));
  buffer_.reserve(kBufferBytes);
}

void FileWriter::Write(const void* data, size_t bytes) {
  written_ += bytes;
  if (buffer_.size() + bytes > kBufferBytes) Flush();
  if (bytes >= kBufferBytes) {
    WriteFully(descriptor_.get(), static_cast<const char*>(data), bytes, -1, path_);
  } else {
    buffer_.append(static_cast<const char*>(data), bytes);
  }
}

void FileWriter::WriteAt(uint64_t offset, const void* data, size_t bytes) {
  Flush();
  WriteFully(descriptor_.get(), static_cast<const char*>(data), bytes, static_cast<int64_t>(offset), path_);
}

void FileWriter::Flush() {
  WriteFully(descriptor_.get(), buffer_.data(), buffer_.size(), -1, path_);
  buffer_.clear();
}

void FileWriter::Close(bool sync) {
  Flush();
  const int sync_status = sync ? fsync(descriptor_.get()) : 0;
  const int sync_reason = errno;
  const int close_status = close(descriptor_.Release());
  if (sync_status != 0 || close_status != 0) {
    ThrowRuntime("{}: cannot finish writing: {}", path_.string(),
                 std::strerror(sync_status != 0 ? sync_reason : errno));
  }
}

}  // namespace l2gcn
