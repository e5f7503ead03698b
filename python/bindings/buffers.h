// Arrays across the border between Python and the library, without a copy in either direction.
//
// Into the library: SharedBuffer reads an object through the buffer protocol (NumPy arrays, memory maps, array.array)
// and keeps it exported for as long as any copy of `owner` lives. The library may let go of it on any thread.
// Out of the library: Give() makes a NumPy array over an Array's memory, which lives until both sides are done
// with it, whatever happens to the data set or model it came from.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "l2gcn/array.h"
#include "l2gcn/make_dataset.h"

namespace l2gcn::python {

namespace nb = nanobind;

// A C-contiguous array of one element type.
struct SharedBuffer {
  std::shared_ptr<const void> owner;  // keeps the memory; null for an absent array
  const void* data = nullptr;
  std::vector<size_t> shape;
  std::string format;  // the buffer protocol's letter: "f", "e", "i", …
  size_t item_size = 0;

  size_t size() const;
  // The memory as `size()` elements of T. Throws Error(kInput) that names `what` unless the elements are of a
  // format in `letters` and of T's size.
  template <class T>
  std::span<const T> As(const char* letters, const std::string& what) const {
    Check(letters, sizeof(T), what);
    return {static_cast<const T*>(data), size()};
  }

 private:
  void Check(const char* letters, size_t item, const std::string& what) const;
};

// Reads `object`; None is an absent array. Throws Error(kInput) that names `what` where there is no buffer, or
// one whose elements do not lie one behind the other.
SharedBuffer ReadBuffer(nb::handle object, const std::string& what);

// Whole numbers of 32 or 64 bits, signed or not.
IndexSpan AsIndices(const SharedBuffer& buffer, const std::string& what);

// A NumPy array over the memory of `array`; writable only if `writable`.
template <class T>
nb::object Give(const Array<T>& array, const std::vector<size_t>& shape, bool writable) {
  auto* holder = new Array<T>(array);
  T* const data = const_cast<T*>(holder->data());
  const nb::capsule owner(holder, [](void* p) noexcept { delete static_cast<Array<T>*>(p); });
  static T nothing{};  // an array without elements still needs an address
  T* const address = data == nullptr ? &nothing : data;
  if (writable) return nb::cast(nb::ndarray<nb::numpy, T>(address, shape.size(), shape.data(), owner));
  return nb::cast(nb::ndarray<nb::numpy, const T>(address, shape.size(), shape.data(), owner));
}

// A result that nobody else holds.
inline nb::object Give(const Matrix& matrix) { return Give(matrix.values, {matrix.rows, matrix.cols}, true); }
template <class T>
nb::object GiveVector(const std::vector<T>& values) {
  return Give(Array<T>::CopyOf(values), {values.size()}, true);
}

}  // namespace l2gcn::python
