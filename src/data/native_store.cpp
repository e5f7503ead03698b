#include "data/native_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/checksum.h"
#include "core/error_format.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/mapping.h"
#include "core/memory_meter.h"
#include "core/threads.h"
#include "data/npy.h"
#include "data/table_schema.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kFormatName = "l2gcn-dataset";
constexpr int kFormatVersion = 1;

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
  if (version == json.end() || !version->is_number_integer() || *version != kFormatVersion) {
    ThrowInput(
        "{}: format version {} cannot be read by this version, which knows {}; convert the source again",
        path.string(), version == json.end() ? "(none)" : version->dump(), kFormatVersion);
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

// Typed reads from dataset.json with the file named in the error.
class Manifest {
 public:
  explicit Manifest(const fs::path& directory)
      : path_((directory / kManifestFile).string()), json_(ReadManifest(directory)) {}

  template <class T>
  T Get(const char* key) const {
    try {
      return json_.at(key).get<T>();
    } catch (const Json::exception&) {
      ThrowInput("{}: \"{}\" is missing or of the wrong type", path_, key);
    }
  }
  uint64_t Count(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_number_unsigned()) {
      ThrowInput("{}: \"{}\" is missing or no count", path_, key);
    }
    return found->get<uint64_t>();
  }
  const Json& json() const { return json_; }
  const std::string& path() const { return path_; }
  bool HasFile(const char* name) const { return json_.at("files").contains(name); }

 private:
  std::string path_;
  Json json_;
};

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

// Compares every block with its sum: the pass that brings the bytes from the disk, before any of them is used.
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

template <class T>
Array<T> OpenColumn(const Context& context, const fs::path& path, uint64_t size) {
  const NpyArray array = NpyArray::Open(path);
  array.ExpectDimensions(1);
  if (array.size() != size) {
    ThrowInput("{}: expected {} elements, found {}", path.string(), size, array.size());
  }
  return array.As<T>(context);
}

// Offsets of `rows` rows into a file of entries; only their ends are looked at.
Array<uint64_t> OpenOffsets(const Context& context, const fs::path& path, uint64_t rows, uint64_t entries) {
  Array<uint64_t> offsets = OpenColumn<uint64_t>(context, path, rows + 1);
  if (offsets[0] != 0 || offsets[rows] != entries) {
    ThrowInput("{}: offsets run from {} to {}, expected 0 to {}", path.string(), offsets[0], offsets[rows],
               entries);
  }
  return offsets;
}

Graph OpenGraph(const Context& context, const fs::path& directory, const Manifest& manifest, uint32_t nodes) {
  Graph graph;
  graph.nodes = nodes;
  graph.directed = manifest.Get<bool>("directed");
  const NpyArray indices = NpyArray::Open(directory / kGraphIndicesFile);
  indices.ExpectDimensions(1);
  graph.indices = indices.As<uint32_t>(context);
  graph.indptr = OpenOffsets(context, directory / kGraphIndptrFile, nodes, graph.entries());
  if (manifest.HasFile(kGraphWeightsFile)) {
    graph.weights = OpenColumn<float>(context, directory / kGraphWeightsFile, graph.entries());
  }
  return graph;
}

Features OpenFeatures(const Context& context, const fs::path& directory, const Manifest& manifest,
                      uint32_t nodes) {
  const uint64_t cols = manifest.Count("features");
  if (manifest.HasFile(kFeaturesFile)) {
    Features features = NpyArray::Open(directory / kFeaturesFile).AsFeatures(context);
    if (features.rows() != nodes || features.cols() != cols) {
      ThrowInput("{}: expected {} × {} features, found {} × {}", (directory / kFeaturesFile).string(), nodes,
                 cols, features.rows(), features.cols());
    }
    return features;
  }
  if (!manifest.HasFile(kFeatureIndptrFile)) {
    if (cols != 0) ThrowInput("{}: has {} features, but no file of them", manifest.path(), cols);
    return Features::None(nodes);
  }
  CsrMatrix sparse;
  sparse.rows = nodes;
  sparse.cols = cols;
  const NpyArray indices = NpyArray::Open(directory / kFeatureIndicesFile);
  indices.ExpectDimensions(1);
  sparse.indices = indices.As<uint32_t>(context);
  sparse.indptr = OpenOffsets(context, directory / kFeatureIndptrFile, nodes, sparse.nnz());
  sparse.values = OpenColumn<float>(context, directory / kFeatureValuesFile, sparse.nnz());
  return Features::Sparse(std::move(sparse));
}

Labels OpenLabels(const Context& context, const fs::path& directory, const Manifest& manifest,
                  uint32_t nodes) {
  Labels labels;
  labels.multilabel = manifest.Get<bool>("multilabel");
  const uint64_t classes = manifest.Count("classes");
  if (classes > UINT32_MAX) ThrowInput("{}: {} classes are absurd", manifest.path(), classes);
  labels.classes = static_cast<uint32_t>(classes);
  const NpyArray array = NpyArray::Open(directory / kLabelsFile);
  if (!labels.multilabel) {
    labels.classes_of = OpenColumn<int32_t>(context, directory / kLabelsFile, nodes);
    return labels;
  }
  array.ExpectDimensions(2);
  if (array.shape()[0] != nodes || array.shape()[1] != classes) {
    ThrowInput("{}: expected {} × {} labels, found {} × {}", array.where(), nodes, classes, array.shape()[0],
               array.shape()[1]);
  }
  labels.matrix = array.As<uint8_t>(context);
  if (manifest.HasFile(kLabelledFile)) {
    labels.labelled = OpenColumn<uint8_t>(context, directory / kLabelledFile, nodes);
  }
  return labels;
}

void OpenNames(const Context& context, const fs::path& directory, const Manifest& manifest,
               Dataset& dataset) {
  const uint32_t nodes = dataset.graph.nodes;
  if (manifest.HasFile(kNodeIdsFile)) {
    dataset.node_ids = OpenColumn<int64_t>(context, directory / kNodeIdsFile, nodes);
  }
  if (manifest.HasFile(kNameOffsetsFile)) {
    const NpyArray text = NpyArray::Open(directory / kNameTextFile);
    dataset.node_names.text = text.As<uint8_t>(context);
    dataset.node_names.offsets = OpenOffsets(context, directory / kNameOffsetsFile, nodes, text.size());
  }
  dataset.class_names = manifest.Get<std::vector<std::string>>("class_names");
  if (!dataset.class_names.empty() && dataset.class_names.size() != dataset.labels.classes) {
    ThrowInput("{}: {} class names for {} classes", manifest.path(), dataset.class_names.size(),
               dataset.labels.classes);
  }
  const auto names = manifest.Get<std::vector<std::string>>("splits");
  for (size_t k = 0; k < names.size(); ++k) {
    dataset.splits.push_back({names[k], OpenColumn<uint8_t>(context, directory / SplitFile(k), nodes)});
  }
}

uint16_t CheckedF16(float value, size_t row, size_t column) {
  constexpr float kLargestF16 = 65504.0f;
  if (std::abs(value) > kLargestF16) {
    ThrowInput(
        "row {} column {} holds {}, which --features-as f16 cannot (its largest value is 65504); use f32",
        row, column, value);
  }
  return NarrowToF16(value);
}

// Sparse features are written as they are stored; dense ones block by block, as `as` says or as they are stored: f32 as
// f4, f16 as f2, and bf16, which NumPy does not have, as f4.
void WriteFeatures(const Context& context, const Features& features, std::optional<FeatureType> as,
                   const fs::path& directory) {
  if (features.cols() == 0) return;
  if (features.stores_sparse()) {
    WriteNpy<uint64_t>(directory / kFeatureIndptrFile, features.csr().indptr.span());
    WriteNpy<uint32_t>(directory / kFeatureIndicesFile, features.csr().indices.span());
    WriteNpy<float>(directory / kFeatureValuesFile, features.csr().values.span());
    return;
  }
  const FeatureType stored = features.type();
  const FeatureType type = as.value_or(stored == FeatureType::kBf16 ? FeatureType::kF32 : stored);
  const bool f16 = type == FeatureType::kF16;
  NpyWriter writer(directory / kFeaturesFile, f16 ? "<f2" : NpyDescr<float>(), {features.cols()});
  constexpr size_t kRowsWritten = 256;
  std::vector<float> block(kRowsWritten * features.cols());
  std::vector<uint16_t> halves(f16 ? block.size() : 0);
  for (size_t first = 0; first < features.rows(); first += kRowsWritten) {
    context.CheckCancelled();
    const size_t count = std::min(kRowsWritten, features.rows() - first), values = count * features.cols();
    if (type == stored) {
      const size_t width = features.bytes() / (features.rows() * features.cols());
      writer.Write(static_cast<const char*>(features.elements()) + first * features.cols() * width,
                   values * width);
      continue;
    }
    features.ReadRows(first, count, block.data());
    if (!f16) {
      writer.Write(block.data(), values * sizeof(float));
      continue;
    }
    for (size_t i = 0; i < values; ++i)
      halves[i] = CheckedF16(block[i], first + i / features.cols(), i % features.cols());
    writer.Write(halves.data(), values * sizeof(uint16_t));
  }
  writer.Close(features.rows());
}

void WriteLabels(const Labels& labels, uint32_t nodes, const fs::path& directory) {
  if (!labels.multilabel) {
    WriteNpy<int32_t>(directory / kLabelsFile, labels.classes_of.span());
    return;
  }
  WriteNpy<uint8_t>(directory / kLabelsFile, labels.matrix.span(), {nodes, labels.classes});
  if (!labels.labelled.empty()) WriteNpy<uint8_t>(directory / kLabelledFile, labels.labelled.span());
}

void WriteNames(const Dataset& dataset, const fs::path& directory) {
  if (!dataset.node_ids.empty()) WriteNpy<int64_t>(directory / kNodeIdsFile, dataset.node_ids.span());
  if (dataset.node_names.empty()) return;
  WriteNpy<uint64_t>(directory / kNameOffsetsFile, dataset.node_names.offsets.span());
  WriteNpy<uint8_t>(directory / kNameTextFile, dataset.node_names.text.span());
}

}  // namespace

std::string SplitFile(size_t k) { return fmt::format("split_{}.npy", k); }

NativeInfo InfoOf(const Dataset& dataset) {
  NativeInfo info;
  info.name = dataset.name;
  info.preset_row = dataset.preset_row;
  info.nodes = dataset.nodes();
  info.edges = dataset.edges;
  info.self_loops = dataset.self_loops;
  info.features = dataset.features.cols();
  info.directed = dataset.graph.directed;
  info.multilabel = dataset.labels.multilabel;
  info.classes = dataset.labels.classes;
  info.class_names = dataset.class_names;
  for (const Split& split : dataset.splits) info.splits.push_back(split.name);
  info.changes = dataset.changes;
  info.schema = dataset.schema;
  return info;
}

void RefuseToReplaceOthers(const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(directory, error) || IsNative(directory) || fs::is_empty(directory, error)) return;
  ThrowUsage(
      "{}: exists and is not a data set of this program, so it is never replaced; choose another output",
      directory.string());
}

bool IsNative(const fs::path& directory) { return fs::is_regular_file(directory / kManifestFile); }

Dataset OpenNative(const Context& context, const fs::path& directory, bool verify) {
  const Manifest manifest(directory);
  if (verify) CheckBlocks(context, directory, manifest);
  Dataset dataset;
  dataset.name = manifest.Get<std::string>("name");
  dataset.preset_row = manifest.Get<std::string>("recipe");
  dataset.format = "native";
  dataset.path = directory.string();
  const uint64_t nodes = manifest.Count("nodes");
  if (nodes > UINT32_MAX)
    ThrowInput("{}: {} nodes, but at most {} are supported", manifest.path(), nodes, UINT32_MAX);
  dataset.graph = OpenGraph(context, directory, manifest, static_cast<uint32_t>(nodes));
  dataset.features = OpenFeatures(context, directory, manifest, dataset.graph.nodes);
  dataset.labels = OpenLabels(context, directory, manifest, dataset.graph.nodes);
  OpenNames(context, directory, manifest, dataset);
  if (const auto table = manifest.json().find("table"); table != manifest.json().end()) {
    dataset.schema = SchemaFromJson(table->dump(), manifest.path());
    if (dataset.schema.width() != dataset.features.cols())
      ThrowInput("{}: its table describes {} features of {}", manifest.path(), dataset.schema.width(),
                 dataset.features.cols());
  }
  dataset.edges = manifest.Count("edges");
  dataset.self_loops = manifest.Count("self_loops");
  return dataset;
}

void WriteManifest(const fs::path& directory, const NativeInfo& info) {
  Json json;
  json["format"] = kFormatName;
  json["version"] = kFormatVersion;
  json["name"] = info.name;
  json["recipe"] = info.preset_row;
  json["nodes"] = info.nodes;
  json["edges"] = info.edges;
  json["self_loops"] = info.self_loops;
  json["directed"] = info.directed;
  json["features"] = info.features;
  json["multilabel"] = info.multilabel;
  json["classes"] = info.classes;
  json["class_names"] = info.class_names;
  json["splits"] = info.splits;
  json["changes"] = {{"entries_read", info.changes.entries_read},
                     {"reverses_added", info.changes.reverses_added},
                     {"duplicates_dropped", info.changes.duplicates_dropped},
                     {"self_loops_found", info.changes.self_loops_found},
                     {"self_loops_dropped", info.changes.self_loops_dropped}};
  if (!info.schema.empty()) json["table"] = ParseJson(SchemaToJson(info.schema), "table");
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

void SaveDataset(const Context& context, const Dataset& dataset, const std::string& directory, bool force) {
  SaveDatasetAs(context, dataset, directory, force, std::nullopt);
}

void SaveDatasetAs(const Context& context, const Dataset& dataset, const std::string& directory, bool force,
                   std::optional<FeatureType> features_as) {
  RefuseToReplaceOthers(directory);
  StagedDirectory staged(directory, force);
  context.CheckCancelled();
  WriteNpy<uint64_t>(staged.path() / kGraphIndptrFile, dataset.graph.indptr.span());
  WriteNpy<uint32_t>(staged.path() / kGraphIndicesFile, dataset.graph.indices.span());
  if (dataset.graph.weighted())
    WriteNpy<float>(staged.path() / kGraphWeightsFile, dataset.graph.weights.span());
  context.CheckCancelled();
  WriteFeatures(context, dataset.features, features_as, staged.path());
  WriteLabels(dataset.labels, dataset.nodes(), staged.path());
  WriteNames(dataset, staged.path());
  for (size_t k = 0; k < dataset.splits.size(); ++k) {
    WriteNpy<uint8_t>(staged.path() / SplitFile(k), dataset.splits[k].roles.span());
  }
  context.CheckCancelled();
  WriteManifest(staged.path(), InfoOf(dataset));
  staged.Commit();
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
