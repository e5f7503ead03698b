// The safetensors container: 8 bytes of header length, a JSON header, raw tensors. Loads in Python without
// us, and no code can hide in it. Only F32 is written; header and checksum are checked before a byte is used.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "l2gcn/array.h"

namespace l2gcn {

struct NamedTensor {
  std::string name;
  std::vector<size_t> shape;
  Array<float> values;
};

NamedTensor ToTensor(std::string name, const Matrix& matrix);

// Tensors in the given order; metadata is free text by key. Replaces the file whole; unless `replace`, a file
// that is there is left alone (Error(kRuntime)). The metadata gets a checksum over header and tensors, which
// reading compares; files without one are older and read as they are.
void WriteSafetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                      const std::map<std::string, std::string>& metadata, bool replace = true);

// The same file as bytes: what ParseSafetensors takes.
std::string SafetensorsBytes(const std::vector<NamedTensor>& tensors,
                             const std::map<std::string, std::string>& metadata);

struct Safetensors {
  std::filesystem::path path;
  std::map<std::string, NamedTensor> tensors;
  std::map<std::string, std::string> metadata;

  bool Has(const std::string& name) const { return tensors.count(name) != 0; }
  // A tensor of two dimensions; throws Error(kInput) if it is absent or has another rank.
  Matrix TakeMatrix(const std::string& name) const;
  Array<float> TakeVector(const std::string& name) const;
};

Safetensors ReadSafetensors(const std::filesystem::path& path);
// The same from memory; `where` names it in errors.
Safetensors ParseSafetensors(std::span<const uint8_t> bytes, const std::string& where);

}  // namespace l2gcn
