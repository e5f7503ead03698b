// Locks the name of a run and writes the run atomically. From the start a directory beside it holds the name:
//
//   RUN.unfinished/             the files of the run so far, locked by the process that writes them
//   RUN.unfinished/checkpoint/  the state to resume from (run/checkpoint.h)
//
// RUN itself appears by one rename once it is complete. Until then an earlier RUN stays intact. Two trainings never share a
// name. A run that a killed process left behind can be resumed, or is replaced by the next lock on its name. A lock that is
// released without a checkpoint or a finished run removes its directory.
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
