#include "data/table_files.h"

#include <algorithm>

#include "core/error_format.h"
#include "data/spellings.h"
#include "data/table_set.h"
#include "data/text_source.h"

namespace l2gcn {
namespace fs = std::filesystem;

bool HasExtension(const fs::path& path, std::initializer_list<const char*> extensions) {
  const std::string extension = LowerCase(WithoutCompression(path).extension().string());
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const char* known) { return extension == known; });
}

namespace {

bool IsTextName(const fs::path& path) {
  return HasExtension(path, {".csv", ".tsv", ".txt", ".edges", ".edgelist", ".el", ".dat"});
}

// The files of a folder by what their names say; edges is empty unless there is exactly one of each kind at
// most.
TableFiles FilesOfFolder(const fs::path& folder) {
  TableFiles files;
  bool clear = true;
  std::error_code error;
  const auto take = [&](fs::path& place, const fs::path& path) {
    clear = clear && place.empty();
    place = path;
  };
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_regular_file(error)) continue;
    const std::string name = LowerCase(entry.path().filename().string());
    const bool table = IsTextName(entry.path());
    if (name.find("edge") != std::string::npos && table) {
      take(files.edges, entry.path());
    } else if (name.find("feat") != std::string::npos &&
               (table ||
                HasExtension(entry.path(), {".json", ".npy", ".npz", ".svm", ".svmlight", ".libsvm"}))) {
      take(files.features, entry.path());
    } else if ((name.find("label") != std::string::npos || name.find("target") != std::string::npos) &&
               (table || HasExtension(entry.path(), {".npy"}))) {
      take(files.labels, entry.path());
    }
  }
  if (!clear) files.edges.clear();
  return files;
}

}  // namespace

TableFiles TableFilesOf(const fs::path& path, const OpenOptions& options) {
  if (!options.edges.empty()) return {options.edges, options.nodes, options.features, options.labels, {}};
  std::error_code error;
  if (fs::is_directory(path, error)) {
    const TableFiles files = FilesOfFolder(path);
    if (files.edges.empty()) {
      ThrowInput(
          "{}: expected one *edge* file, at most one *feat* and at most one *label* or *target* file; name "
          "them "
          "with --edges, --features and --labels",
          path.string());
    }
    return files;
  }
  return {path, options.nodes, options.features, options.labels, {}};
}

bool DetectTableSet(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return !FilesOfFolder(path).edges.empty();
  return fs::is_regular_file(path, error) && IsTextName(path);
}

bool IsLoneEdgeList(const fs::path& path, const OpenOptions& options) {
  std::error_code error;
  return options.edges.empty() && options.nodes.empty() && options.features.empty() &&
         options.labels.empty() && fs::is_regular_file(path, error) && IsTextName(path);
}

}  // namespace l2gcn
