// Looks up which mapping of the process an address belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace l2gcn {

struct Mapping {
  uintptr_t begin, end;
  uint64_t offset;  // in the file
  uint64_t inode;   // of the file; 0: memory that no file stands for
  std::string path;
};

// The mapping that `address` lies in; none where the system does not say.
std::optional<Mapping> FindMapping(uintptr_t address);

// Whether the memory at `address` can be had from a file again, so that its pages need not stay.
inline bool IsMappedFromFile(const void* address) {
  const std::optional<Mapping> mapping = FindMapping(reinterpret_cast<uintptr_t>(address));
  return mapping && mapping->inode != 0;
}

}  // namespace l2gcn
