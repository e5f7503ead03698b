#include "core/scratch_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/error_format.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFolderPrefix = "l2gcn-scratch-";

// A folder, no link, of this user's.
bool IsOwnFolder(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

}  // namespace

ScratchFolder::ScratchFolder(const fs::path& directory) {
  RemoveLeftOvers(directory);
  constexpr int kTries = 10;  // somebody may take a new folder for a left-over
  for (int attempt = 0; attempt < kTries && !lock_.valid(); ++attempt) {
    std::string name = (directory / (std::string(kFolderPrefix) + "XXXXXX")).string();
    if (mkdtemp(name.data()) == nullptr) {
      ThrowUsage("--scratch {}: no folder can be made there: {}; name a folder on a disk with room",
                 directory.string(), std::strerror(errno));
    }
    path_ = name;
    if (std::optional<Descriptor> lock = TryLock(path_)) lock_ = std::move(*lock);
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void ScratchFolder::RemoveLeftOvers(const fs::path& directory) {
  std::error_code error, ignored;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const fs::path folder = at->path();
    if (!folder.filename().string().starts_with(kFolderPrefix) || !IsOwnFolder(folder)) continue;
    if (const std::optional<Descriptor> lock = TryLock(folder)) fs::remove_all(folder, ignored);
  }
}

}  // namespace l2gcn
