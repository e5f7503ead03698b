#include "run/run_lock.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/error_format.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr const char* kUnfinished = ".unfinished";

fs::path ParentOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

bool IsFree(const fs::path& target) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(target, error))) return true;
  return fs::is_directory(target, error) && fs::is_empty(target, error);
}

// --force replaces a run (or an empty directory), nothing else.
void CheckTarget(const fs::path& target, bool force) {
  if (IsFree(target)) return;
  std::error_code error;
  if (!fs::is_directory(target, error) || !HoldsRun(target)) {
    ThrowUsage("{}: exists and is not a run; it will not be replaced. Choose another output with -o",
               target.string());
  }
  if (force) return;
  ThrowUsage("{}: already holds a run; choose another output or pass --force to replace it", target.string());
}

bool ProgressIn(const fs::path& checkpoint) {
  std::error_code error;
  for (fs::directory_iterator at(checkpoint, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("seed-") || name.starts_with("trained-") || name.starts_with("state-")) return true;
  }
  return false;
}

bool IsSameFile(const Descriptor& open, const fs::path& path) {
  struct stat mine {
  }, there{};
  return fstat(open.get(), &mine) == 0 && stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
         mine.st_dev == there.st_dev;
}

void MakeParent(const fs::path& target) {
  std::error_code error;
  fs::create_directories(ParentOf(target), error);
  if (error) ThrowUsage("{}: cannot create the directory: {}", ParentOf(target).string(), error.message());
}

}  // namespace

fs::path UnfinishedPath(const fs::path& target) { return target.string() + kUnfinished; }

fs::path RunTarget(const fs::path& name) {
  const fs::path target = OutputTarget(name);
  const std::string text = target.string();
  if (!text.ends_with(kUnfinished)) return target;
  return text.substr(0, text.size() - std::strlen(kUnfinished));
}

bool HoldsRun(const fs::path& directory) {
  std::error_code error;
  return fs::is_regular_file(directory / "result.json", error);
}

RunLock::RunLock(fs::path target, fs::path work, Descriptor lock, bool replace)
    : target_(std::move(target)), work_(std::move(work)), lock_(std::move(lock)), replace_(replace) {}

RunLock::~RunLock() {
  if (committed_ || HasProgress() || HoldsRun(work_)) return;
  std::error_code ignored;
  fs::remove_all(work_, ignored);
}

bool RunLock::HasProgress() const { return ProgressIn(checkpoint()); }

// Null: another process has it, or it holds progress that must not be discarded.
std::shared_ptr<RunLock> RunLock::TryTake(const fs::path& target, bool replace, bool discard) {
  const fs::path work = UnfinishedPath(target);
  for (int attempt = 0; attempt < 100; ++attempt) {
    const bool made = mkdir(work.c_str(), 0777) == 0;
    if (!made && errno != EEXIST)
      ThrowUsage("{}: output directory is not writable: {}", ParentOf(target).string(), std::strerror(errno));
    std::optional<Descriptor> lock = TryLock(work);
    if (!lock && errno == ENOENT) continue;
    if (!lock && made && errno != EWOULDBLOCK)
      lock.emplace();  // a file system without locks: it is ours all the same
    if (!lock) return nullptr;
    if (lock->valid() && !IsSameFile(*lock, work)) continue;  // its owner finished between the two
    if (!made) {
      if (!discard && (ProgressIn(work / "checkpoint") || HoldsRun(work))) return nullptr;
      std::error_code error;
      for (const fs::directory_entry& entry : fs::directory_iterator(work, error))
        fs::remove_all(entry.path(), error);
    }
    return std::shared_ptr<RunLock>(new RunLock(target, work, std::move(*lock), replace));
  }
  return nullptr;
}

std::shared_ptr<RunLock> RunLock::Take(const fs::path& name, bool force) {
  const fs::path target = RunTarget(name);
  CheckTarget(target, force);
  MakeParent(target);
  auto lock = TryTake(target, force, force);
  if (lock == nullptr) {
    if (!TryLock(UnfinishedPath(target))) {
      ThrowUsage("{}: another training is making this run; choose another output with -o", target.string());
    }
    ThrowUsage(
        "{}: a training of this name was cut off, and its progress is kept; go on with --resume {}, or pass "
        "--force to start anew",
        UnfinishedPath(target).string(), target.string());
  }
  CheckTarget(target, force);  // it may have been finished just now
  return lock;
}

std::shared_ptr<RunLock> RunLock::TakeNext(const std::string& stem) {
  for (int number = 1;; ++number) {
    const fs::path target = fs::path("runs") / fmt::format("{}-{:03d}", stem, number);
    std::error_code error;
    if (fs::exists(fs::symlink_status(target, error))) continue;
    MakeParent(target);
    auto lock = TryTake(target, false, false);
    if (lock != nullptr && !fs::exists(fs::symlink_status(target, error))) return lock;
  }
}

std::shared_ptr<RunLock> RunLock::TakeUp(const fs::path& name, bool force) {
  const fs::path target = RunTarget(name);
  const fs::path work = UnfinishedPath(target);
  std::error_code error;
  if (!fs::is_directory(work, error)) return nullptr;
  std::optional<Descriptor> lock = TryLock(work);
  if (!lock && errno == EWOULDBLOCK)
    ThrowUsage("{}: another process is making this run at the moment", target.string());
  if (!lock) lock.emplace();  // a file system without locks
  if (lock->valid() && !IsSameFile(*lock, work)) return nullptr;
  return std::shared_ptr<RunLock>(new RunLock(target, work, std::move(*lock), force));
}

void RunLock::Commit() {
  std::error_code error, ignored;
  if (fs::is_directory(checkpoint(), ignored)) fs::remove_all(checkpoint(), error);
  if (error) ThrowRuntime("{}: cannot remove the checkpoint: {}", checkpoint().string(), error.message());
  SyncDirectory(work_);
  PlaceDirectory(work_, target_, replace_);
  committed_ = true;
  SyncDirectory(ParentOf(target_));
}

}  // namespace l2gcn
