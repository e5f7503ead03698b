// What a training keeps so that it can go on after any end, in RUN.unfinished/checkpoint:
//
//   begun.json       how it was begun: data set, settings and options of the machine as the user gave them, runs; from
//                    the first moment
//   bound.json       what progress belongs to: settings as resolved, checksum of the data, build, device; it is
//                    written before the first of the files below
//   trained-S.json   seed S is trained, but not evaluated; checksum of model-S, its model as evaluation takes it
//   seed-S.json      seed S is finished; checksums of all its files
//   state-0.safetensors, state-1.safetensors   the current seed, the last two snapshots in turn
//
// Each is written aside, synced and renamed; each carries a checksum. Of the two snapshots the newer whole
// one is taken, so that damage to one costs the time between two. A snapshot that cannot be written (a full
// disk) costs a warning: the training goes on.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "l2gcn/train.h"
#include "run/file_sums.h"
#include "train/snapshot.h"

namespace l2gcn {

// begun.json
nlohmann::ordered_json BegunOf(const RunOptions& options);
void WriteBegun(const std::filesystem::path& folder, const RunOptions& options);
// Throws Error(kInput) for a damaged file.
RunOptions ReadBegun(const std::filesystem::path& folder);
RunOptions BegunFrom(const nlohmann::ordered_json& json, const std::string& where);

// A checksum over every array of the data set that training reads.
uint64_t DatasetChecksum(const Context& context, const Dataset& dataset);

// What other progress may be bound to: the build and the device that made it.
nlohmann::ordered_json MachineBinding(const Context& context);

// A seed that was finished or trained, and the checksums of its files.
struct KeptSeed {
  SeedResult result;
  FileSums files;
};

class Checkpoint final : public Checkpointer {
 public:
  // Throws Error(kUsage) with the difference if `folder` holds progress made with other settings, data or
  // build.
  Checkpoint(const Context& context, std::filesystem::path folder, const Dataset& dataset,
             const TrainConfig& config, const RunOptions& options);

  // A seed that is finished, with all its files in `directory`, or trained; nothing if it is not, or, with a warning, if
  // a file is missing or damaged: then the seed is to be trained again.
  std::optional<KeptSeed> Finished(uint64_t seed, const std::filesystem::path& directory) const {
    return Read("seed", seed, directory);
  }
  // The model and the result; the split is not kept.
  std::optional<Trained> TrainedOnly(uint64_t seed) const;
  void KeepTrained(const Trained& trained);
  void KeepFinished(const KeptSeed& kept);

  // Snapshots from here on belong to this seed and attempt (more than one after a training that diverged).
  void BeginSeed(uint64_t seed);
  // The rate was lowered: what was kept of the seed is no good.
  void Restart();
  uint32_t attempt() const { return attempt_; }

  const Snapshot* Start() const override { return start_ ? &*start_ : nullptr; }
  bool Due(uint64_t epochs) override;
  uint32_t EpochsBetween() const override { return epochs_between_; }
  void Keep(const Snapshot& snapshot) override;

  uint64_t written_bytes() const { return written_bytes_; }
  double seconds() const { return seconds_; }
  uint32_t count() const { return count_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<KeptSeed> Read(const char* what, uint64_t seed, const std::filesystem::path& directory) const;
  void Write(const char* what, const KeptSeed& kept);
  void Bind();
  void CompareBound(const nlohmann::ordered_json& bound) const;
  nlohmann::ordered_json Binding() const;
  std::filesystem::path StatePath(uint64_t generation) const;

  const Context& context_;
  const std::filesystem::path folder_;
  const Dataset& dataset_;
  const TrainConfig& config_;
  const double seconds_between_;
  const uint32_t epochs_between_;
  bool bound_ = false;
  bool failed_ = false;  // a snapshot could not be written, and a warning was shown
  uint64_t seed_ = 0;
  uint32_t attempt_ = 0;
  uint64_t generation_ = 0;  // of the next snapshot
  uint64_t kept_epochs_ = 0;
  std::optional<Snapshot> start_;
  Clock::time_point last_;
  uint64_t written_bytes_ = 0;
  double seconds_ = 0;  // spent on snapshots
  uint32_t count_ = 0;
};

// The snapshot in a file, and what it says of itself. Throws Error(kInput).
struct StoredSnapshot {
  Snapshot snapshot;
  uint64_t seed = 0, generation = 0;
  uint32_t attempt = 0;
};
StoredSnapshot ReadSnapshot(const std::filesystem::path& path);
StoredSnapshot SnapshotFrom(const Safetensors& file);

}  // namespace l2gcn
