// dataset.json of a native data set (data/native_store.h): what it says, and the checksums of the files beside it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error_format.h"
#include "data/native_store.h"
#include "l2gcn/context.h"

namespace l2gcn {

// Typed reads from dataset.json with the file named in the error.
class Manifest {
 public:
  // Throws Error(kInput) for a file that is no manifest, of another version, or that disagrees with its checksum.
  explicit Manifest(const std::filesystem::path& directory);

  template <class T>
  T Get(const char* key) const {
    try {
      return json_.at(key).get<T>();
    } catch (const nlohmann::json::exception&) {
      ThrowInput("{}: \"{}\" is missing or of the wrong type", path_, key);
    }
  }
  uint64_t Count(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_number_unsigned())
      ThrowInput("{}: \"{}\" is missing or no count", path_, key);
    return found->get<uint64_t>();
  }
  std::vector<StoredRelation> Relations() const;
  const nlohmann::ordered_json& json() const { return json_; }
  const std::string& path() const { return path_; }
  bool HasFile(const char* name) const { return json_.at("files").contains(name); }
  bool IsRegression() const;  // its labels are targets

 private:
  std::string path_;
  nlohmann::ordered_json json_;
};

// Compares every block of every file with its sum: the pass that brings the bytes from the disk, before any of them is
// used. Throws Error(kInput) naming the first bytes that differ. Does nothing where the files exceed the memory there is.
void CheckBlocks(const Context& context, const std::filesystem::path& directory, const Manifest& manifest);

}  // namespace l2gcn
