// Folders in one file, for fuzzing and as test samples: each file of the folder is a line "@@ PATH" and the
// bytes up to the next such line.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace l2gcn {

// Writes the files under `folder`; names that would leave it are left out.
inline void UnpackBundle(std::string_view bundle, const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  constexpr std::string_view kMark = "@@ ", kNextMark = "\n@@ ";
  const auto is_plain = [](std::string_view name) {
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
    return !name.empty() && name.size() < 100 && name.find_first_not_of(kAllowed) == name.npos &&
           name.front() != '/' && name.back() != '/' && name.find("..") == name.npos;
  };
  while (bundle.starts_with(kMark)) {
    const size_t line = std::min(bundle.find('\n'), bundle.size());
    const std::string_view name = bundle.substr(kMark.size(), line - kMark.size());
    // An empty file ends where its own line does.
    const size_t end = std::min(bundle.find(kNextMark, line), bundle.size());
    if (is_plain(name)) {
      const std::string_view content = bundle.substr(std::min(line + 1, end), end - std::min(line + 1, end));
      std::error_code ignored;
      fs::create_directories((folder / name).parent_path(), ignored);
      std::ofstream(folder / name, std::ios::binary)
          .write(content.data(), static_cast<std::streamsize>(content.size()));
    }
    bundle.remove_prefix(std::min(end + 1, bundle.size()));
  }
}

}  // namespace l2gcn
