// A folder in scratch for files that need names for a while. It is locked by its process and goes with this object; what
// a killed process left is removed by whoever next uses the scratch folder.
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
