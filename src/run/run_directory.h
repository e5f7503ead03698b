// What stands in a run directory:
//
//   RUN/             model.safetensors  config.json  split.npy  result.json  log.jsonl
//   RUN/seed-S/      the same, one for each seed, when there are several; RUN/ then has result.json alone
//
// They are written into the claim's work directory (run/run_claim.h) and appear in one rename; a directory
// that is not a run is never replaced.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "l2gcn/train.h"
#include "run/run_claim.h"

namespace l2gcn {

class RunWriter {
 public:
  // Takes the run's name unless options.claim has it: options.output, or the next free
  // runs/DATASET-METHOD-NNN.
  RunWriter(const Dataset& dataset, const TrainConfig& config, const RunOptions& options);
  RunClaim& claim() { return *claim_; }
  // As soon as a seed is trained: what follows may fail.
  void WriteModel(const Trained& trained);
  Model ReadModel(uint64_t seed) const;
  // Result, split and log of one seed.
  void WriteSeed(const Trained& trained, const TrainResult& so_far);
  // result.json of the whole, then the rename.
  void Commit(const TrainResult& result);
  std::string directory() const { return claim_->target().string(); }
  std::string SeedDirectory(uint64_t seed) const;  // where it will be

 private:
  std::filesystem::path WorkDirectory(uint64_t seed) const;
  const RunOptions& options_;
  std::shared_ptr<RunClaim> claim_;
};

}  // namespace l2gcn
