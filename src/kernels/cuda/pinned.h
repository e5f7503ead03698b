// Page-locked host memory that kernels read and write over the bus. Locking small pages one by one costs more than half
// a second a GiB; so memory is asked for in huge pages, touched by several threads and locked as it lies.
#pragma once

#include <cstddef>

namespace l2gcn::cuda {

// Null where the machine does not give it.
void* AllocatePinned(size_t bytes);
void ReleasePinned(void* data, size_t bytes);

}  // namespace l2gcn::cuda
