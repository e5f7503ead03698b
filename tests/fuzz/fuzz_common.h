// What the fuzz targets share: one call per input, in which only Error may be thrown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "l2gcn/dataset.h"
#include "l2gcn/error.h"

namespace l2gcn {

inline void OnlyErrors(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error&) {
    // Refusing bad input is the point; everything else is a finding.
  }
}

// Writes the input to a file of this process and name, for readers that take a path.
inline std::filesystem::path AsFile(const uint8_t* data, size_t size, const std::string& name) {
  static const std::filesystem::path folder = [] {
    std::string pattern = (std::filesystem::temp_directory_path() / "l2gcn-fuzz-XXXXXX").string();
    return std::filesystem::path(mkdtemp(pattern.data()));
  }();
  std::ofstream(folder / name, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  return folder / name;
}

// The input in a block of its own, so that the sanitizer sees every byte read past it.
struct Owned {
  std::shared_ptr<std::string> text;
  std::span<const uint8_t> bytes;
};
inline Owned Own(const uint8_t* data, size_t size) {
  auto text = std::make_shared<std::string>(reinterpret_cast<const char*>(data), size);
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(text->data()), size);
  return {std::move(text), bytes};
}

}  // namespace l2gcn
