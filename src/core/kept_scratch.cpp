#include "core/kept_scratch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "core/checksum.h"
#include "core/error_format.h"
#include "core/scratch_folder.h"
#include "l2gcn/error.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kKeptPrefix = "l2gcn-kept-";

uint64_t SumOf(std::string_view text) { return Checksum(text.data(), text.size()); }

// A folder, no link, of this user's.
bool IsOwnFolder(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

bool IsLockOf(const Descriptor& lock, const fs::path& path) {
  struct stat mine {
  }, there{};
  return fstat(lock.get(), &mine) == 0 && stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
         mine.st_dev == there.st_dev;
}

std::string TextOf(const fs::path& path) {
  try {
    return ReadTextFile(path);
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

ScratchFolder::ScratchFolder(const fs::path& directory) {
  KeptScratch::Clean(directory);
  constexpr int kTries = 10;  // somebody may take a new folder for a left-over
  for (int attempt = 0; attempt < kTries && !lock_.valid(); ++attempt) {
    std::string name = (directory / (std::string(kKeptPrefix) + "XXXXXX")).string();
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

KeptFile::KeptFile(fs::path stem, const KeptShape& shape, uint64_t done)
    : stem_(std::move(stem)), shape_(shape), done_(done) {}

KeptFile::~KeptFile() {
  std::error_code ignored;
  fs::remove(stem_.string() + ".mark", ignored);
  fs::remove(data(), ignored);
}

void KeptFile::Mark(uint64_t done) {
  done_ = done;
  const std::string text = fmt::format("{} {} {} {} {} {}", shape_.rows, shape_.cols, shape_.type,
                                       shape_.block_rows, shape_.of, done_);
  WriteFileWhole(stem_.string() + ".mark", fmt::format("{} {}\n", text, ChecksumText(SumOf(text))));
}

KeptScratch::KeptScratch(fs::path folder, Descriptor lock)
    : folder_(std::move(folder)), lock_(std::move(lock)) {
  FindFiles();
}

KeptScratch::~KeptScratch() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::shared_ptr<KeptScratch> KeptScratch::Take(const fs::path& directory, const fs::path& owner) {
  std::error_code error;
  const std::string name = fs::absolute(owner, error).lexically_normal().string();
  const fs::path folder = directory / (std::string(kKeptPrefix) + ChecksumText(SumOf(name)));
  constexpr int kTries = 10;  // somebody may take a new folder for a left-over
  for (int attempt = 0; attempt < kTries; ++attempt) {
    mkdir(folder.c_str(), 0700);
    if (!IsOwnFolder(folder)) return nullptr;
    std::optional<Descriptor> lock = TryLock(folder);
    if (!lock) continue;
    if (!IsLockOf(*lock, folder)) continue;
    try {
      if (TextOf(folder / "owner") != name) WriteFileWhole(folder / "owner", name);
    } catch (const Error&) {  // a full disk
      fs::remove_all(folder, error);
      return nullptr;
    }
    return std::shared_ptr<KeptScratch>(new KeptScratch(folder, std::move(*lock)));
  }
  return nullptr;
}

void KeptScratch::Clean(const fs::path& directory) {
  std::error_code error, ignored;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const fs::path folder = at->path();
    if (!folder.filename().string().starts_with(kKeptPrefix) || !IsOwnFolder(folder)) continue;
    const std::optional<Descriptor> lock = TryLock(folder);
    if (!lock) continue;  // its process lives
    const std::string owner = TextOf(folder / "owner");
    if (owner.empty() || !fs::is_directory(owner, ignored)) fs::remove_all(folder, ignored);
  }
}

fs::path KeptScratch::StemOf(uint64_t id) const { return folder_ / ChecksumText(id); }

std::optional<KeptScratch::Found> KeptScratch::ReadMark(const fs::path& stem) {
  const std::string text = TextOf(stem.string() + ".mark");
  Found found;
  KeptShape& shape = found.shape;
  int end = 0;
  const int read =
      std::sscanf(text.c_str(), "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n",
                  &shape.rows, &shape.cols, &shape.type, &shape.block_rows, &shape.of, &found.done, &end);
  if (read != 6) return std::nullopt;
  const std::string_view counts = std::string_view(text).substr(0, static_cast<size_t>(end));
  if (text != fmt::format("{} {}\n", counts, ChecksumText(SumOf(counts)))) return std::nullopt;
  return found;
}

// What has no whole mark goes.
void KeptScratch::FindFiles() {
  std::error_code error, ignored;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    const fs::path path = at->path();
    if (path.extension() != ".data") continue;
    const fs::path stem = path.parent_path() / path.stem();
    const std::optional<Found> found = ReadMark(stem);
    uint64_t id = 0;
    if (found && std::sscanf(path.stem().c_str(), "%" SCNx64, &id) == 1) {
      found_[id] = *found;
    } else {
      fs::remove(path, ignored);
    }
  }
  const std::string panels = TextOf(folder_ / "panels");
  if (std::sscanf(panels.c_str(), "%" SCNu64, &panels_) != 1) panels_ = 0;
}

bool KeptScratch::HasWhole(uint64_t id) const {
  const auto found = found_.find(id);
  return found != found_.end() && found->second.done == found->second.shape.of;
}

std::shared_ptr<KeptFile> KeptScratch::Open(uint64_t id, const KeptShape& shape) {
  if (const auto at = found_.find(id); at != found_.end()) {
    const Found found = at->second;
    found_.erase(at);
    const KeptShape& left = found.shape;
    if (left.rows == shape.rows && left.cols == shape.cols && left.type == shape.type && left.of == shape.of)
      return std::make_shared<KeptFile>(StemOf(id), left, found.done);
  }
  // Nothing that lies there under this name is of the new file.
  auto file = std::make_shared<KeptFile>(StemOf(id), shape, 0);
  std::error_code ignored;
  fs::remove(StemOf(id).string() + ".mark", ignored);
  fs::remove(file->data(), ignored);
  return file;
}

void KeptScratch::CountPanel() { WriteFileWhole(folder_ / "panels", std::to_string(++panels_)); }

}  // namespace l2gcn
