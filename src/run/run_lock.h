// A run while it is being made. Its name is taken from the first moment by a directory beside it:
//
//   RUN.unfinished/             the files of the run as they come to be; locked by the process that makes
//   them RUN.unfinished/checkpoint/  what is needed to go on (run/checkpoint.h)
//
// and RUN itself appears by one rename when all is there. So an earlier RUN stays whole until then, two
// trainings never share a name, and what a killed process left can be gone on with, or is replaced by the
// next that takes the name. A lock that ends without progress worth keeping leaves nothing.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/files.h"
#include "l2gcn/train.h"

namespace l2gcn {

class RunLock {
 public:
  // Takes the name the user gave. Throws Error(kUsage) if a run of that name exists (unless `force`), if
  // something else does, if another process is making it, or if unfinished progress would be lost (unless
  // `force`).
  static std::shared_ptr<RunLock> Take(const std::filesystem::path& target, bool force);
  // Takes the next free runs/STEM-NNN.
  static std::shared_ptr<RunLock> TakeNext(const std::string& stem);
  // Takes up what was left. Null where there is nothing to go on with.
  static std::shared_ptr<RunLock> TakeUp(const std::filesystem::path& target, bool force);

  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  const std::filesystem::path& target() const { return target_; }
  const std::filesystem::path& work() const { return work_; }
  std::filesystem::path checkpoint() const { return work_ / "checkpoint"; }
  bool replace() const { return replace_; }
  void set_replace(bool replace) { replace_ = replace; }
  bool HasProgress() const;
  // Removes the checkpoint and puts the run in its place, where an earlier one is replaced only if replace().
  // The work directory must be whole.
  void Commit();

 private:
  RunLock(std::filesystem::path target, std::filesystem::path work, Descriptor lock, bool replace);
  static std::shared_ptr<RunLock> TryTake(const std::filesystem::path& target, bool replace, bool discard);

  std::filesystem::path target_, work_;
  Descriptor lock_;
  bool replace_;
  bool committed_ = false;
};

// RUN, whether it was named so or as RUN.unfinished.
std::filesystem::path RunTarget(const std::filesystem::path& name);
std::filesystem::path UnfinishedPath(const std::filesystem::path& target);
bool HoldsRun(const std::filesystem::path& directory);

}  // namespace l2gcn
