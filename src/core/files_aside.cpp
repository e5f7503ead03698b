// Writing aside: names nobody can guess, locks that end with their process, and the renames. See
// core/files.h.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error_format.h"
#include "core/files.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr size_t kRandomDigits = 16;
constexpr int kMostTries = 100;
constexpr int kMostLinks = 40;

fs::path FolderOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

std::string AsidePrefix(const fs::path& target) { return "." + target.filename().string() + ".tmp-"; }

bool IsAsideName(const std::string& name, const std::string& prefix) {
  return name.size() == prefix.size() + kRandomDigits && name.starts_with(prefix) &&
         std::all_of(name.begin() + static_cast<ptrdiff_t>(prefix.size()), name.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// What processes that were killed left beside `target`; what is still locked belongs to a living one.
void CollectLeftOvers(const fs::path& target) {
  const std::string prefix = AsidePrefix(target);
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(FolderOf(target), error), end; !error && at != end; at.increment(error)) {
    if (IsAsideName(at->path().filename().string(), prefix)) found.push_back(at->path());
  }
  for (const fs::path& path : found) {
    if (const std::optional<Descriptor> lock = TryLock(path)) fs::remove_all(path, error);
  }
}

fs::path RandomName(const fs::path& target) {
  uint64_t random = 0;
  if (getrandom(&random, sizeof(random), 0) != sizeof(random)) {
    ThrowRuntime("{}: cannot draw a temporary name: {}", target.string(), std::strerror(errno));
  }
  return FolderOf(target) / fmt::format("{}{:016x}", AsidePrefix(target), random);
}

// Makes a file or directory beside `target` and locks it. Between the two somebody may take it for a
// left-over: then it is gone or locked, and another is made.
Descriptor MakeAside(const fs::path& target, bool directory, fs::path& path) {
  for (int attempt = 0; attempt < kMostTries; ++attempt) {
    path = RandomName(target);
    const int made = directory
                         ? mkdir(path.c_str(), 0777)
                         : open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (made < 0 && errno == EEXIST) continue;
    if (made < 0) break;
    Descriptor lock = directory
                          ? Descriptor(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
                          : Descriptor(made);
    if (!lock.valid()) {
      const int reason = errno;
      rmdir(path.c_str());
      errno = reason;
      break;
    }
    struct stat mine {
    }, there{};
    const bool taken = flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    const bool stands = fstat(lock.get(), &mine) == 0 && lstat(path.c_str(), &there) == 0 &&
                        mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
    if (!taken && stands) return lock;
  }
  ThrowRuntime("{}: cannot create a file beside it: {}", target.string(), std::strerror(errno));
}

// The mode (and where allowed the owner) of what is replaced.
void TakeMode(int descriptor, const fs::path& from) {
  struct stat old {};
  if (stat(from.c_str(), &old) != 0) return;
  if (fchown(descriptor, old.st_uid, old.st_gid) != 0) errno = 0;  // only root may
  if (fchmod(descriptor, old.st_mode & 07777) != 0) errno = 0;     // a file system without modes
}

void RefuseSpecial(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return;
  if (S_ISDIR(status.st_mode)) ThrowUsage("{}: is a directory; expected a file to write", path.string());
  if (!S_ISREG(status.st_mode)) {
    ThrowUsage("{}: is a device, fifo or socket, which is never replaced; name a regular file",
               path.string());
  }
}

[[noreturn]] void ThrowAppeared(const fs::path& path) {
  ThrowRuntime(
      "{}: has appeared while this was being written, and was left alone; choose another output or pass "
      "--force",
      path.string());
}

// Renames; without `replace` onto nothing only.
void RenameInto(const fs::path& aside, const fs::path& path, bool replace) {
  int status = replace ? rename(aside.c_str(), path.c_str())
                       : renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
  if (status != 0 && !replace && (errno == EINVAL || errno == ENOSYS)) {  // a file system without that flag
    status = link(aside.c_str(), path.c_str());
    if (status == 0) unlink(aside.c_str());
  }
  if (status == 0) return;
  if (errno == EEXIST && !replace) ThrowAppeared(path);
  ThrowRuntime("{}: cannot put in place: {}", path.string(), std::strerror(errno));
}

}  // namespace

std::optional<Descriptor> TryLock(const fs::path& path) {
  Descriptor lock(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!lock.valid() || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  return lock;
}

fs::path OutputTarget(const fs::path& path) {
  fs::path target = path;
  while (!target.has_filename() && target.has_parent_path() && target != target.root_path()) {
    target = target.parent_path();
  }
  std::error_code error;
  for (int links = 0; fs::is_symlink(target, error); ++links) {
    if (links == kMostLinks) ThrowUsage("{}: too many symbolic links", path.string());
    const fs::path to = fs::read_symlink(target, error);
    if (error) ThrowUsage("{}: cannot read the symbolic link: {}", target.string(), error.message());
    target = to.is_absolute() ? to : FolderOf(target) / to;
  }
  return target;
}

void CheckOutputFile(const fs::path& path, bool replace) {
  const fs::path target = OutputTarget(path);
  RefuseSpecial(target);
  std::error_code error;
  if (fs::exists(target, error) && !replace) {
    ThrowUsage("{}: exists already; choose another output or pass --force to replace it", path.string());
  }
  const fs::path parent = FolderOf(target);
  if (!fs::is_directory(parent, error)) {
    ThrowUsage("{}: no such directory {}; create it first", path.string(), parent.string());
  }
  if (access(parent.c_str(), W_OK) != 0) {
    ThrowUsage("{}: directory {} is not writable", path.string(), parent.string());
  }
}

void ReplaceFile(const fs::path& path, const std::function<void(const fs::path&)>& write, bool replace) {
  const fs::path target = OutputTarget(path);
  RefuseSpecial(target);
  CollectLeftOvers(target);
  fs::path aside;
  const Descriptor lock = MakeAside(target, false, aside);
  try {
    TakeMode(lock.get(), target);
    write(aside);
    RenameInto(aside, target, replace);
  } catch (...) {
    unlink(aside.c_str());
    throw;
  }
  SyncDirectory(FolderOf(target));
}

void WriteFileWhole(const fs::path& path, std::string_view content) {
  ReplaceFile(path, [&](const fs::path& aside) {
    FileWriter writer(aside);
    writer.Write(content);
    writer.Close();
  });
}

void SyncDirectory(const fs::path& directory) {
  const Descriptor handle(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle.valid() && fsync(handle.get()) == 0) return;
  if (errno == EINVAL || errno == EBADF || errno == ENOSYS || errno == EACCES)
    return;  // cannot be synced here
  ThrowRuntime("{}: cannot make sure that its new files are on the disk: {}", directory.string(),
               std::strerror(errno));
}

void PlaceDirectory(const fs::path& from, const fs::path& to, bool replace) {
  for (int attempt = 0; attempt < kMostTries; ++attempt) {
    // A plain rename puts a directory onto nothing or onto an empty directory, and onto nothing else.
    if (rename(from.c_str(), to.c_str()) == 0) return;
    if (errno != EEXIST && errno != ENOTEMPTY) break;
    if (!replace) ThrowAppeared(to);
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
      std::error_code ignored;
      fs::remove_all(from, ignored);
      return;
    }
    if (errno == EINVAL || errno == ENOSYS) {  // a file system that cannot exchange: two renames
      const fs::path old = RandomName(to);
      if (rename(to.c_str(), old.c_str()) != 0) break;
      if (rename(from.c_str(), to.c_str()) != 0) {
        const int reason = errno;
        rename(old.c_str(), to.c_str());
        errno = reason;
        break;
      }
      std::error_code ignored;
      fs::remove_all(old, ignored);
      return;
    }
    if (errno != ENOENT) break;  // it has gone meanwhile: once more
  }
  ThrowRuntime("{}: cannot put the new directory in place: {}", to.string(), std::strerror(errno));
}

StagedDirectory::StagedDirectory(fs::path target, bool replace)
    : target_(OutputTarget(target)), replace_(replace) {
  std::error_code error;
  if (fs::exists(target_, error) && !replace_ &&
      !(fs::is_directory(target_, error) && fs::is_empty(target_, error))) {
    ThrowUsage("{}: exists already; choose another output or pass --force to replace it", target_.string());
  }
  const fs::path parent = FolderOf(target_);
  fs::create_directories(parent, error);
  if (error) ThrowUsage("{}: cannot create the directory: {}", parent.string(), error.message());
  if (access(parent.c_str(), W_OK) != 0) {
    ThrowUsage("{}: output directory is not writable: {}", parent.string(), std::strerror(errno));
  }
  CollectLeftOvers(target_);
  lock_ = MakeAside(target_, true, staging_);
}

StagedDirectory::~StagedDirectory() {
  if (committed_) return;
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
}

void StagedDirectory::Commit() {
  SyncDirectory(staging_);
  PlaceDirectory(staging_, target_, replace_);
  committed_ = true;
  SyncDirectory(FolderOf(target_));
}

}  // namespace l2gcn
