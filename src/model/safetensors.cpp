#include "model/safetensors.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error_format.h"
#include "core/files.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kLargestHeader = 16u << 20;

size_t ElementCount(const std::vector<size_t>& shape) {
  size_t count = 1;
  for (size_t extent : shape) count *= extent;
  return count;
}

// Shape and byte range of one header entry, checked against the data that follows the header.
NamedTensor ParseTensor(const std::string& name, const Json& entry, std::span<const uint8_t> data,
                        const std::string& where) {
  if (!entry.is_object() || entry.value("dtype", "") != "F32") {
    ThrowInput("{}: tensor '{}' is not of type F32; was this file written by l2gcn?", where, name);
  }
  NamedTensor tensor;
  tensor.name = name;
  uint64_t elements = 1;
  for (const Json& extent : entry.at("shape")) {
    const auto size = extent.get<uint64_t>();
    if (size != 0 && elements > data.size() / size)
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

void WriteSafetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    L2GCN_ASSERT(ElementCount(tensor.shape) == tensor.values.size());
    header[tensor.name] = {{"dtype", "F32"},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.values.bytes()}}};
    offset += tensor.values.bytes();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::filesystem::path aside = path.string() + ".tmp";
  FileWriter writer(aside);
  const uint64_t length = text.size();
  writer.Write(&length, sizeof(length));
  writer.Write(text);
  for (const NamedTensor& tensor : tensors) writer.Write(tensor.values.data(), tensor.values.bytes());
  writer.Close();
  std::filesystem::rename(aside, path);
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
    const Json header = Json::parse(text.begin(), text.end());
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        result.metadata = entry.get<std::map<std::string, std::string>>();
      } else {
        result.tensors[name] = ParseTensor(name, entry, bytes.subspan(sizeof(length) + length), where);
      }
    }
  } catch (const Json::exception& error) {
    ThrowInput("{}: damaged safetensors header: {}", where, error.what());
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
