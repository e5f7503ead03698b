// Arrays and matrices as the library passes them: contiguous memory with one owner, who may be a heap
// block or a mapped file; copying an Array shares the memory.
//
// Guarantees: owned memory is 64-byte aligned and *not* initialised by Allocate. Mapped memory is read-only
// and may be unaligned for T only where a reader says so (none of the native files are).
#pragma once

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
  // Memory of at least `size` elements that `owner` holds and nobody else writes.
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

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t bytes() const { return size_ * sizeof(T); }
  bool writable() const { return writable_; }
  const T* data() const { return data_; }
  // Only for arrays this process allocated; a mapped array is never written.
  T* mutable_data() { return writable_ ? data_ : nullptr; }
  const T& operator[](size_t i) const { return data_[i]; }
  std::span<const T> span() const { return {data_, size_}; }
  std::span<T> mutable_span() { return {mutable_data(), writable_ ? size_ : 0}; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  std::shared_ptr<void> owner_;
  T* data_ = nullptr;
  size_t size_ = 0;
  bool writable_ = false;
};

// Row-major view; `stride` elements lie between the starts of two rows.
template <class T>
struct MatrixView {
  T* data = nullptr;
  size_t rows = 0;
  size_t cols = 0;
  size_t stride = 0;

  MatrixView() = default;
  MatrixView(T* d, size_t r, size_t c) : data(d), rows(r), cols(c), stride(c) {}
  MatrixView(T* d, size_t r, size_t c, size_t s) : data(d), rows(r), cols(c), stride(s) {}
  operator MatrixView<const T>() const { return {data, rows, cols, stride}; }  // NOLINT: a view widens
  T* row(size_t i) const { return data + i * stride; }
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
  MatrixView<const float> view() const { return {values.data(), rows, cols}; }
  MatrixView<float> mutable_view() { return {values.mutable_data(), rows, cols}; }
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
