// Where a run lives on disk:
//
//   RUN/             model.safetensors  config.json  split.npy  result.json  log.jsonl
//   RUN/seed-S/      the same, one for each seed, when there are several; RUN/ then has result.json alone
//
// A run is written aside and appears in one rename; a directory that is not a run is never replaced.
#pragma once

#include <filesystem>
#include <string>

#include "core/files.h"
#include "l2gcn/train.h"

namespace l2gcn {

class RunWriter {
 public:
  // Chooses the directory (options.output, or the next free runs/DATASET-METHOD-NNN) and makes sure it can be
  // written before any training starts.
  RunWriter(const Dataset& dataset, const TrainConfig& config, const RunOptions& options);
  // Model, result and log of one seed.
  void WriteSeed(const Trained& trained, const TrainResult& so_far);
  // result.json of the whole, then the rename.
  void Commit(const TrainResult& result);
  std::string directory() const { return target_.string(); }
  std::string SeedDirectory(uint64_t seed) const;

 private:
  const RunOptions& options_;
  std::filesystem::path target_;
  StagedDirectory staged_;
};

}  // namespace l2gcn
