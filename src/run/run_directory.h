// What stands in a run directory:
//
//   RUN/             model.safetensors  config.json  split.npy  result.json  log.jsonl
//   RUN/seed-S/      the same, one for each seed, when there are several; RUN/ then has result.json alone
//
// result.json carries a checksum of itself and, under "files", those of the files beside it, or of the result.json of
// every seed. Whoever opens a run compares what it reads.
//
// They are written into the lock's work directory (run/run_lock.h) and appear in one rename; a directory
// that is not a run is never replaced.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "l2gcn/train.h"
#include "run/file_sums.h"
#include "run/run_lock.h"

namespace l2gcn {

class RunWriter {
 public:
  // Takes the run's name unless options.lock has it: options.output, or the next free
  // runs/DATASET-METHOD-NNN.
  RunWriter(const Dataset& dataset, const TrainConfig& config, const RunOptions& options);
  RunLock& lock() { return *lock_; }
  // As soon as a seed is trained: what follows may fail. Returns the checksums of the files written.
  FileSums WriteModel(const Trained& trained);
  Model ReadModel(uint64_t seed) const;
  // Result, split and log of one seed. Returns the checksums of all its files.
  FileSums WriteSeed(const Trained& trained, const TrainResult& so_far);
  // A seed that an earlier process has written.
  void AddSeed(uint64_t seed, const FileSums& files) { seeds_[seed] = files; }
  // result.json of the whole, once every seed is there; then the rename.
  void Commit(const TrainResult& result);
  std::string directory() const { return lock_->target().string(); }
  std::string SeedDirectory(uint64_t seed) const;            // where it will be
  std::filesystem::path WorkDirectory(uint64_t seed) const;  // where it is until then

 private:
  const RunOptions& options_;
  std::shared_ptr<RunLock> lock_;
  std::map<uint64_t, FileSums> seeds_;
};

}  // namespace l2gcn
