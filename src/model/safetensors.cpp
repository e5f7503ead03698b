#include "model/safetensors.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "core/checksum.h"
#include "core/error_format.h"
#include "core/files.h"
#include "core/json_text.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kLargestHeader = 16u << 20;
constexpr const char* kMetadataKey = "__metadata__";
constexpr const char* kChecksumKey = "checksum";

size_t ElementCount(const std::vector<size_t>& shape) {
  size_t count = 1;
  for (size_t extent : shape) count *= extent;
  return count;
}

// The checksum of the header, without its own entry there, and of the tensors that follow; `add_data` adds these.
template <class AddData>
std::string FileChecksum(Json header, const AddData& add_data) {
  if (header.contains(kMetadataKey)) header[kMetadataKey].erase(kChecksumKey);
  const std::string text = JsonText(header);
  ChecksumStream sum;
  sum.Add(text.data(), text.size());
  add_data(sum);
  return "xxh3:" + ChecksumText(sum.Sum());
}

// Files written before there were checksums have none, and are believed.
void CheckSum(const Json& header, std::span<const uint8_t> data, const std::string& where) {
  const auto metadata = header.find(kMetadataKey);
  if (metadata == header.end() || !metadata->is_object() || !metadata->contains(kChecksumKey)) return;
  const std::string found =
      FileChecksum(header, [&](ChecksumStream& sum) { sum.Add(data.data(), data.size()); });
  const Json& expected = metadata->at(kChecksumKey);
  if (expected != found) {
    ThrowInput(
        "{}: its checksum is {}, the file says {}; it was changed or damaged: restore it or make it again",
        where, found, JsonText(expected));
  }
}

// Shape and byte range of one header entry, checked against the data that follows the header.
NamedTensor ParseTensor(const std::string& name, const Json& entry, std::span<const uint8_t> data,
                        const std::string& where) {
  if (!entry.is_object() || !entry.contains("dtype") || entry.at("dtype") != "F32") {
    ThrowInput("{}: tensor '{}' is not of type F32; was this file written by l2gcn?", where, name);
  }
  NamedTensor tensor;
  tensor.name = name;
  uint64_t elements = 1;
  for (const Json& extent : entry.at("shape")) {
    const auto size = extent.get<uint64_t>();
    if (size > data.size() || (size != 0 && elements > data.size() / size))
      ThrowInput("{}: tensor '{}' is larger than the file", where, name);
    elements *= size;
    tensor.shape.push_back(size);
  }
  const auto begin = entry.at("data_offsets").at(0).get<uint64_t>();
  const auto end = entry.at("data_offsets").at(1).get<uint64_t>();
  if (begin > end || end > data.size() || end - begin != elements * sizeof(float)) {
    ThrowInput(
        "{}: tensor '{}' claims bytes {} to {} for {} values, but {} bytes of data follow the header; the "
        "file is damaged or cut short",
        where, name, begin, end, elements, data.size());
  }
  tensor.values = Array<float>::Allocate(elements);
  if (elements > 0) std::memcpy(tensor.values.mutable_data(), data.data() + begin, end - begin);
  return tensor;
}

}  // namespace

NamedTensor ToTensor(std::string name, const Matrix& matrix) {
  return {std::move(name), {matrix.rows, matrix.cols}, matrix.values};
}

namespace {

// The length of the header and the header itself, of tensors that follow one after another.
std::string HeaderOf(const std::vector<NamedTensor>& tensors,
                     const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  header[kMetadataKey] = metadata;
  uint64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    L2GCN_ASSERT(ElementCount(tensor.shape) == tensor.values.size());
    header[tensor.name] = {{"dtype", "F32"},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.values.bytes()}}};
    offset += tensor.values.bytes();
  }
  header[kMetadataKey][kChecksumKey] = FileChecksum(header, [&](ChecksumStream& sum) {
    for (const NamedTensor& tensor : tensors) sum.Add(tensor.values.data(), tensor.values.bytes());
  });
  std::string text = JsonText(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text;
}

}  // namespace

void WriteSafetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                      const std::map<std::string, std::string>& metadata, bool replace) {
  const std::string header = HeaderOf(tensors, metadata);
  ReplaceFile(
      path,
      [&](const std::filesystem::path& aside) {
        FileWriter writer(aside);
        writer.Write(header);
        for (const NamedTensor& tensor : tensors) writer.Write(tensor.values.data(), tensor.values.bytes());
        writer.Close();
      },
      replace);
}

std::string SafetensorsBytes(const std::vector<NamedTensor>& tensors,
                             const std::map<std::string, std::string>& metadata) {
  std::string bytes = HeaderOf(tensors, metadata);
  for (const NamedTensor& tensor : tensors)
    bytes.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.bytes());
  return bytes;
}

Safetensors ReadSafetensors(const std::filesystem::path& path) {
  const auto file = MappedFile::Open(path);
  return ParseSafetensors(file->bytes(), path.string());
}

Safetensors ParseSafetensors(std::span<const uint8_t> bytes, const std::string& where) {
  uint64_t length = 0;
  if (bytes.size() < sizeof(length))
    ThrowInput("{}: too short for a safetensors file ({} bytes)", where, bytes.size());
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > kLargestHeader || length > bytes.size() - sizeof(length)) {
    ThrowInput(
        "{}: not a safetensors file, or cut short: its header should be {} bytes long, the file has {}",
        where, length, bytes.size());
  }
  Safetensors result;
  result.path = where;
  try {
    const auto text = bytes.subspan(sizeof(length), length);
    const Json header =
        ParseJson({reinterpret_cast<const char*>(text.data()), text.size()}, where + ", header");
    if (!header.is_object()) ThrowInput("{}: the header is no JSON object; the file is damaged", where);
    const auto data = bytes.subspan(sizeof(length) + length);
    CheckSum(header, data, where);
    for (const auto& [name, entry] : header.items()) {
      if (name == kMetadataKey) {
        result.metadata = entry.get<std::map<std::string, std::string>>();
      } else {
        result.tensors[name] = ParseTensor(name, entry, data, where);
      }
    }
  } catch (const Json::exception& error) {
    ThrowInput("{}: damaged safetensors header ({})", where, error.what());
  }
  return result;
}

Matrix Safetensors::TakeMatrix(const std::string& name) const {
  const auto found = tensors.find(name);
  if (found == tensors.end()) ThrowInput("{}: tensor '{}' is missing", path.string(), name);
  if (found->second.shape.size() != 2)
    ThrowInput("{}: tensor '{}' should have 2 dimensions", path.string(), name);
  return {found->second.values, found->second.shape[0], found->second.shape[1]};
}

Array<float> Safetensors::TakeVector(const std::string& name) const {
  const auto found = tensors.find(name);
  if (found == tensors.end()) ThrowInput("{}: tensor '{}' is missing", path.string(), name);
  if (found->second.shape.size() != 1)
    ThrowInput("{}: tensor '{}' should have 1 dimension", path.string(), name);
  return found->second.values;
}

}  // namespace l2gcn
