// Scratch files that a killed process leaves for the process that goes on with its run.
//
// They lie in a folder of their own inside the scratch folder, SCRATCH/l2gcn-kept-KEY, where KEY stands for the run:
//
//   owner        the run's unfinished directory; once that is gone nobody will go on, and whoever next uses the scratch
//                folder removes all of this
//   panels       how many panels of columns the run has aggregated so far, over all its processes
//   ID.data      a matrix; ID is a checksum of all that it is computed from, so it serves whoever asks for the same
//   ID.mark      its shape and how far it is done; synced after the data and put in place by one rename
//
// The folder is locked by the process that uses it. It is removed when that process ends in an orderly way: at the end,
// at Ctrl-C, on errors. A file is removed as soon as nobody uses it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "core/files.h"

namespace l2gcn {

// Counts of a matrix that is kept, and how far it is done: `of` rows or columns make it whole.
struct KeptShape {
  uint64_t rows = 0, cols = 0, type = 0, block_rows = 0, of = 0;
};

class KeptFile {
 public:
  KeptFile(std::filesystem::path stem, const KeptShape& shape, uint64_t done);
  ~KeptFile();  // removes it
  KeptFile(const KeptFile&) = delete;
  KeptFile& operator=(const KeptFile&) = delete;

  std::filesystem::path data() const { return stem_.string() + ".data"; }
  const KeptShape& shape() const { return shape_; }
  uint64_t done() const { return done_; }
  // The first `done` rows or columns are on the disk.
  void Mark(uint64_t done);

 private:
  const std::filesystem::path stem_;
  const KeptShape shape_;
  uint64_t done_ = 0;
};

class KeptScratch {
 public:
  // The folder of the run whose unfinished directory is `owner`, with what an earlier process left there. Null where the
  // folder cannot be had: the run then keeps nothing.
  static std::shared_ptr<KeptScratch> Take(const std::filesystem::path& directory,
                                           const std::filesystem::path& owner);
  // Removes what killed processes left in a scratch folder and nobody can go on with.
  static void Clean(const std::filesystem::path& directory);

  ~KeptScratch();
  KeptScratch(const KeptScratch&) = delete;
  KeptScratch& operator=(const KeptScratch&) = delete;

  // Whether an earlier process left something under this name, and whether all of it is there.
  bool Has(uint64_t id) const { return found_.contains(id); }
  bool HasWhole(uint64_t id) const;
  // Whether there is anything left that nobody has asked for yet.
  bool Expects() const { return !found_.empty(); }
  // What was left under this name if its shape agrees, but for the rows of a block; else a new one of this shape.
  std::shared_ptr<KeptFile> Open(uint64_t id, const KeptShape& shape);

  void CountPanel();
  uint64_t panels() const { return panels_; }

 private:
  struct Found {
    KeptShape shape;
    uint64_t done = 0;
  };
  KeptScratch(std::filesystem::path folder, Descriptor lock);
  void FindFiles();
  std::filesystem::path StemOf(uint64_t id) const;
  static std::optional<Found> ReadMark(const std::filesystem::path& stem);

  const std::filesystem::path folder_;
  const Descriptor lock_;
  std::map<uint64_t, Found> found_;
  uint64_t panels_ = 0;
};

}  // namespace l2gcn
