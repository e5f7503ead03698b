// A temporary folder in scratch, for files that need names. Its process locks it, and it is removed with this object. The next
// user of the scratch folder removes what a killed process left.
#pragma once

#include <filesystem>

#include "core/files.h"

namespace l2gcn {

class ScratchFolder {
 public:
  // Throws Error(kUsage) if no folder can be made in `directory`.
  explicit ScratchFolder(const std::filesystem::path& directory);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

  // Removes the folders that killed processes left in `directory`.
  static void RemoveLeftOvers(const std::filesystem::path& directory);

 private:
  std::filesystem::path path_;
  Descriptor lock_;
};

}  // namespace l2gcn
