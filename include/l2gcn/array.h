// Arrays and matrices as the library passes them: contiguous memory in a heap block or in a mapped file.
//
// Copying an Array is cheap, because the copies share their memory for reading. They never share it for
// writing: the first call of mutable_data() on a shared or mapped array makes a private copy. So a write
// through one array is never seen through another, and a mapped file is never written.
//
// Guarantees: owned memory is 64-byte aligned and *not* initialised by Allocate. Mapped memory may be
// unaligned for T only where a reader says so (none of the native files are).
//
// Threads: several threads may read one Array, and may write different elements of it through pointers, once
// one of them has called mutable_data(). The call that may copy must not run beside other uses of the same
// Array object. A pointer from mutable_data() writes to what was copied from the array later; take it again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace l2gcn {

// 64-byte aligned block of `bytes`; large blocks ask the kernel for huge pages. Throws Error(kRuntime).
std::shared_ptr<void> AllocateAligned(size_t bytes);

template <class T>
class Array {
 public:
  Array() = default;

  static Array Allocate(size_t size) {
    return Adopt(size == 0 ? nullptr : AllocateAligned(size * sizeof(T)), size);
  }
  // Memory of at least `size` elements that `owner` holds and that nobody else reads or writes.
  static Array Adopt(std::shared_ptr<void> owner, size_t size) {
    Array array;
    array.owner_ = std::move(owner);
    array.data_ = static_cast<T*>(array.owner_.get());
    array.size_ = size;
    array.writable_ = true;
    return array;
  }
  static Array Zeros(size_t size) { return Filled(size, T{}); }
  static Array Filled(size_t size, T value) {
    Array array = Allocate(size);
    for (size_t i = 0; i < size; ++i) array.data_[i] = value;
    return array;
  }
  static Array CopyOf(std::span<const T> values) {
    Array array = Allocate(values.size());
    for (size_t i = 0; i < values.size(); ++i) array.data_[i] = values[i];
    return array;
  }
  // Read-only memory kept alive by `owner` (a mapped file).
  static Array Borrow(std::shared_ptr<const void> owner, const T* data, size_t size) {
    Array array;
    array.owner_ = std::const_pointer_cast<void>(std::move(owner));
    array.data_ = const_cast<T*>(data);
    array.size_ = size;
    return array;
  }
  // A copy in memory of its own, now rather than at the first write.
  Array Clone() const { return CopyOf(span()); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t bytes() const { return size_ * sizeof(T); }
  const T* data() const { return data_; }
  // The elements, to be written. Copies them first if other arrays share them or if they are mapped.
  T* mutable_data() {
    if (size_ != 0 && !IsPrivate()) *this = Clone();
    return data_;
  }
  const T& operator[](size_t i) const { return data_[i]; }
  std::span<const T> span() const { return {data_, size_}; }
  std::span<T> mutable_span() { return {mutable_data(), size_}; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  bool IsPrivate() const {
    if (!writable_ || owner_.use_count() != 1) return false;
#ifndef __SANITIZE_THREAD__
    std::atomic_thread_fence(std::memory_order_acquire);  // what the last other owner read, it has read
#endif
    return true;
  }

  std::shared_ptr<void> owner_;
  T* data_ = nullptr;
  size_t size_ = 0;
  bool writable_ = false;  // false for a mapped file
};

// Dense float matrix (rows × cols, row-major, no padding).
struct Matrix {
  Array<float> values;
  size_t rows = 0;
  size_t cols = 0;

  static Matrix Allocate(size_t rows, size_t cols) {
    return {Array<float>::Allocate(rows * cols), rows, cols};
  }
  static Matrix Zeros(size_t rows, size_t cols) { return {Array<float>::Zeros(rows * cols), rows, cols}; }
  Matrix Clone() const { return {values.Clone(), rows, cols}; }
  const float* row(size_t i) const { return values.data() + i * cols; }
  float* mutable_row(size_t i) { return values.mutable_data() + i * cols; }
  size_t bytes() const { return values.bytes(); }
};

// Compressed sparse rows; column indices of a row ascend and do not repeat.
struct CsrMatrix {
  size_t rows = 0;
  size_t cols = 0;
  Array<uint64_t> indptr;   // (rows + 1)
  Array<uint32_t> indices;  // (nnz)
  Array<float> values;      // (nnz)

  size_t nnz() const { return indices.size(); }
  size_t bytes() const { return indptr.bytes() + indices.bytes() + values.bytes(); }
};

}  // namespace l2gcn
