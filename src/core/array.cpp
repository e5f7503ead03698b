#include "l2gcn/array.h"

#include <sys/mman.h>

#include <cstdlib>

#include "core/error_format.h"

namespace l2gcn {

std::shared_ptr<void> AllocateAligned(size_t bytes) {
  constexpr size_t kAlignment = 64;
  constexpr size_t kHugePage = size_t{2} << 20;
  const bool large = bytes >= 2 * kHugePage;
  const size_t alignment = large ? kHugePage : kAlignment;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  if (rounded < bytes) ThrowRuntime("cannot allocate {} bytes: the size overflows", bytes);
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) {
    throw Error(ErrorKind::kRuntime, OutOfMemoryMessage(bytes));
  }
  if (large) madvise(memory, rounded, MADV_HUGEPAGE);
  return std::shared_ptr<void>(memory, std::free);
}

}  // namespace l2gcn
