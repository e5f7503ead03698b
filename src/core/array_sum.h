// Checksums of large arrays, block by block with all threads; the number of threads does not matter.
#pragma once

#include "core/checksum.h"
#include "l2gcn/array.h"
#include "l2gcn/context.h"

namespace l2gcn {

// Adds the length of an array and its bytes.
void AddArray(const Context& context, const void* data, size_t bytes, ChecksumStream& sum);

template <class T>
void AddArray(const Context& context, const Array<T>& array, ChecksumStream& sum) {
  AddArray(context, array.data(), array.bytes(), sum);
}

}  // namespace l2gcn
