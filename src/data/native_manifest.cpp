#include "data/native_manifest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "core/checksum.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/mapping.h"
#include "core/memory_meter.h"
#include "core/threads.h"
#include "data/native_store.h"
#include "data/table_schema.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kFormatName = "l2gcn-dataset";
constexpr int kFormatVersion = 1;
constexpr int kRegressionDataVersion = 2;  // whose labels earlier programs cannot read

constexpr size_t kSumBlock = size_t{1} << 20;  // bytes one of the sums in "blocks" covers
constexpr size_t kSumDigits = 16;

struct ManifestSums {
  std::string whole;   // of the file
  std::string blocks;  // of each block of kSumBlock bytes, one after the other
};

// Read by blocks, so that it never counts as resident memory.
ManifestSums SumFile(const fs::path& path) {
  const Descriptor file = OpenRegularFile(path);
  std::vector<char> block(kSumBlock);
  ChecksumStream whole;
  ManifestSums sums;
  for (;;) {
    size_t filled = 0;
    while (filled < block.size()) {
      const ssize_t got = read(file.get(), block.data() + filled, block.size() - filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) ThrowInput("{}: cannot read: {}", path.string(), std::strerror(errno));
      if (got == 0) break;
      filled += static_cast<size_t>(got);
    }
    if (filled == 0) break;
    whole.Add(block.data(), filled);
    sums.blocks += ChecksumText(Checksum(block.data(), filled));
    if (filled < block.size()) break;
  }
  sums.whole = ChecksumText(whole.Sum());
  return sums;
}

// The text under `key`; empty where there is none.
std::string TextAt(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// The checksum of everything in dataset.json but the checksum itself.
std::string ManifestChecksum(Json json) {
  json.erase("checksum");
  const std::string text = JsonText(json);
  return ChecksumText(Checksum(text.data(), text.size()));
}

Json ReadManifest(const fs::path& directory) {
  const fs::path path = directory / kManifestFile;
  Json json = ReadJsonFile(path.string());
  if (!json.is_object()) ThrowInput("{}: no valid JSON object", path.string());
  if (TextAt(json, "format") != kFormatName) {
    ThrowInput("{}: not a data set of this program: \"format\" should be \"{}\"", path.string(), kFormatName);
  }
  const auto version = json.find("version");
  if (version == json.end() || !version->is_number_integer() ||
      (*version != kFormatVersion && *version != kRegressionDataVersion)) {
    ThrowInput(
        "{}: format version {} cannot be read by this version, which knows {} and {}; convert the source "
        "again",
        path.string(), version == json.end() ? "(none)" : version->dump(), kFormatVersion,
        kRegressionDataVersion);
  }
  const auto files = json.find("files");
  if (files == json.end() || !files->is_object()) ThrowInput("{}: has no list of files", path.string());
  const auto sum = json.find("checksum");  // none in directories written before there was one
  if (sum != json.end() && *sum != ManifestChecksum(json)) {
    ThrowInput("{}: does not agree with its checksum: it was changed or damaged; convert the source again",
               path.string());
  }
  return json;
}

// One mapped file and the sums of its blocks.
struct SummedFile {
  std::shared_ptr<const MappedFile> file;
  std::string sums;
  size_t first_block = 0;  // in the count over all files
};

// Files of dataset.json that have sums of their blocks. Empty where together they exceed the memory there is: they
// would come from the disk twice (l2gcn info --verify reads them).
std::vector<SummedFile> SummedFiles(const Context& context, const fs::path& directory,
                                    const Manifest& manifest, size_t& blocks) {
  std::vector<SummedFile> files;
  uint64_t total = 0;
  blocks = 0;
  for (const auto& [name, entry] : manifest.json().at("files").items()) {
    const std::string sums = TextAt(entry, "blocks");
    if (sums.empty()) continue;
    if (name.find('/') != std::string::npos)
      ThrowInput("{}: file name '{}' is refused", manifest.path(), name);
    SummedFile& summed = files.emplace_back(SummedFile{MappedFile::Open(directory / name), sums, blocks});
    const size_t count = (summed.file->bytes().size() + kSumBlock - 1) / kSumBlock;
    if (sums.size() != count * kSumDigits) {
      ThrowInput(
          "{}: has {} bytes, which dataset.json does not expect; the file was changed or damaged: convert "
          "the "
          "source again",
          (directory / name).string(), summed.file->bytes().size());
    }
    total += summed.file->bytes().size();
    blocks += count;
  }
  const uint64_t memory = AvailableBytes();
  if (total > (context.host_memory != 0 ? std::min(context.host_memory, memory) : memory)) files.clear();
  return files;
}

}  // namespace

Manifest::Manifest(const fs::path& directory)
    : path_((directory / kManifestFile).string()), json_(ReadManifest(directory)) {}

bool Manifest::IsRegression() const { return json_.at("version") == kRegressionDataVersion; }

std::vector<StoredRelation> Manifest::Relations() const {
  std::vector<StoredRelation> relations;
  const auto found = json_.find("relations");
  if (found == json_.end()) return relations;
  try {
    for (const Json& one : *found) {
      StoredRelation relation{one.at("name").get<std::string>(), one.at("directed").get<bool>(), kOwnRows};
      if (one.contains("rows_of")) relation.rows_of = one.at("rows_of").get<uint32_t>();
      if (relation.rows_of != kOwnRows && relation.rows_of > relations.size())
        ThrowInput("{}: relation {} has the rows of a later one", path_, relations.size());
      relations.push_back(std::move(relation));
    }
  } catch (const Json::exception& error) {
    ThrowInput("{}: \"relations\" is damaged: {}", path_, error.what());
  }
  return relations;
}

void CheckBlocks(const Context& context, const fs::path& directory, const Manifest& manifest) {
  size_t blocks = 0;
  const std::vector<SummedFile> files = SummedFiles(context, directory, manifest, blocks);
  if (files.empty()) return;
  std::atomic<size_t> wrong{blocks};
  const auto locate = [&](size_t block) -> const SummedFile& {
    const auto after =
        std::upper_bound(files.begin(), files.end(), block,
                         [](size_t at, const SummedFile& file) { return at < file.first_block; });
    return *(after - 1);
  };
  ParallelFor(context, blocks, 8, [&](size_t begin, size_t end) {
    for (size_t block = begin; block < end; ++block) {
      const SummedFile& file = locate(block);
      const size_t k = block - file.first_block;
      const auto bytes = file.file->bytes().subspan(k * kSumBlock);
      const uint64_t sum = Checksum(bytes.first(std::min(kSumBlock, bytes.size())));
      if (file.sums.compare(k * kSumDigits, kSumDigits, ChecksumText(sum)) == 0) continue;
      size_t seen = wrong.load();
      while (block < seen && !wrong.compare_exchange_weak(seen, block)) {
      }
      return;
    }
  });
  if (wrong.load() == blocks) return;
  const SummedFile& file = locate(wrong.load());
  const size_t start = (wrong.load() - file.first_block) * kSumBlock;
  ThrowInput(
      "{}: bytes {} to {} do not agree with their checksum in dataset.json; the file was changed or damaged: "
      "convert "
      "the source again",
      file.file->path().string(), start, std::min(start + kSumBlock, file.file->bytes().size()));
}

void WriteManifest(const fs::path& directory, const NativeInfo& info) {
  Json json;
  json["format"] = kFormatName;
  json["version"] = info.regression ? kRegressionDataVersion : kFormatVersion;
  json["name"] = info.name;
  json["recipe"] = info.preset_row;
  json["nodes"] = info.nodes;
  json["edges"] = info.edges;
  json["self_loops"] = info.self_loops;
  json["directed"] = info.directed;
  for (const StoredRelation& relation : info.relations) {
    json["relations"].push_back({{"name", relation.name}, {"directed", relation.directed}});
    if (relation.rows_of != kOwnRows) json["relations"].back()["rows_of"] = relation.rows_of;
  }
  if (info.inductive) json["inductive"] = true;
  json["features"] = info.features;
  json["multilabel"] = info.multilabel;
  json["classes"] = info.classes;
  json["class_names"] = info.class_names;
  json["splits"] = info.splits;
  if (!info.split_columns.empty()) json["split_columns"] = info.split_columns;
  json["changes"] = {{"entries_read", info.changes.entries_read},
                     {"reverses_added", info.changes.reverses_added},
                     {"duplicates_dropped", info.changes.duplicates_dropped},
                     {"self_loops_found", info.changes.self_loops_found},
                     {"self_loops_dropped", info.changes.self_loops_dropped}};
  if (!info.schema.empty()) json["table"] = ParseJson(SchemaToJson(info.schema), "table");
  for (const NodeType& type : info.node_types)
    json["node_types"].push_back({{"name", type.name}, {"count", type.count}, {"labelled", type.labelled}});
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".npy") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  Json& files = json["files"] = Json::object();
  for (const std::string& name : names) {
    const ManifestSums sums = SumFile(directory / name);
    files[name] = {{"bytes", fs::file_size(directory / name)}, {"xxh3", sums.whole}, {"blocks", sums.blocks}};
  }
  // Taken of what a reader will see: names that are no UTF-8 are replaced in the file.
  json["checksum"] = ManifestChecksum(ParseJson(JsonText(json), kManifestFile));
  WriteFileWhole(directory / kManifestFile, JsonText(json, 1) + "\n");
}

uint64_t VerifyNative(const Context& context, const fs::path& directory) {
  const Manifest manifest(directory);
  const Json& files = manifest.json().at("files");
  std::vector<std::string> names;
  for (const auto& [name, entry] : files.items()) {
    if (name.find('/') != std::string::npos)
      ThrowInput("{}: file name '{}' is refused", manifest.path(), name);
    names.push_back(name);
  }
  std::vector<uint64_t> bytes(names.size(), 0);
  ParallelTasks(context, names.size(), [&](size_t k, uint32_t) {
    context.CheckCancelled();
    const fs::path path = directory / names[k];
    const std::string expected = TextAt(files.at(names[k]), "xxh3");
    const std::string found = SumFile(path).whole;
    if (found != expected) {
      ThrowInput(
          "{}: its checksum is {}, dataset.json says {}; the file was changed or damaged: convert the source "
          "again",
          path.string(), found, expected.empty() ? "nothing" : expected);
    }
    bytes[k] = fs::file_size(path);
  });
  uint64_t total = 0;
  for (const uint64_t count : bytes) total += count;
  return total;
}

std::optional<std::string> ChecksumOfMapped(const void* data) {
  const std::optional<Mapping> mapping = FindMapping(reinterpret_cast<uintptr_t>(data));
  if (!mapping || mapping->inode == 0) return std::nullopt;
  const fs::path path = mapping->path, directory = path.parent_path();
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || status.st_ino != mapping->inode || !IsNative(directory))
    return std::nullopt;
  const Manifest manifest(directory);
  const Json& files = manifest.json().at("files");
  const std::string name = path.filename().string();
  if (!files.contains(name)) return std::nullopt;
  const bool changed = fs::last_write_time(path) > fs::last_write_time(directory / kManifestFile);
  return changed ? SumFile(path).whole : TextAt(files.at(name), "xxh3");
}

}  // namespace l2gcn
