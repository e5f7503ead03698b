// The files that make up a data set of tables.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "l2gcn/dataset.h"

namespace l2gcn {

struct TableFiles {
  std::filesystem::path edges, nodes, features, labels;  // empty: none
  std::vector<std::string> words;  // columns of codes, which are categories although they hold numbers
};

// Whether the name ends so, in any case, once .gz or .zst is taken off.
bool HasExtension(const std::filesystem::path& path, std::initializer_list<const char*> extensions);

// Those the options name, those that a folder holds by what their names say, or a lone edge list. Throws Error(kInput)
// for a folder where that is not clear.
TableFiles TableFilesOf(const std::filesystem::path& path, const OpenOptions& options);

}  // namespace l2gcn
