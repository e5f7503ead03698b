#include "run/file_sums.h"

#include <fmt/format.h>

#include "core/checksum.h"
#include "core/files.h"
#include "l2gcn/error.h"

namespace l2gcn {
namespace fs = std::filesystem;

std::string SumOfFile(const fs::path& path) {
  return "xxh3:" + ChecksumText(Checksum(MappedFile::Open(path)->bytes()));
}

FileSums SumsOfFiles(const fs::path& directory, std::span<const char* const> names) {
  FileSums sums;
  for (const char* name : names) sums[name] = SumOfFile(directory / name);
  return sums;
}

std::string DamageOf(const fs::path& directory, const std::string& name, const FileSums& sums) {
  const std::string path = (directory / name).string();
  const auto expected = sums.find(name);
  if (expected == sums.end()) return path + ": has no checksum among those of its run";
  std::error_code error;
  if (!fs::exists(path, error)) return path + ": is missing";
  try {
    if (SumOfFile(path) == expected->second) return "";
  } catch (const Error& unreadable) {
    return unreadable.what();
  }
  return path + ": does not agree with its checksum; it was changed or damaged";
}

std::string FirstDamage(const fs::path& directory, const FileSums& sums) {
  for (const auto& entry : sums) {
    if (std::string damage = DamageOf(directory, entry.first, sums); !damage.empty()) return damage;
  }
  return "";
}

}  // namespace l2gcn
