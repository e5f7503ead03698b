// NumPy's .npy arrays: read in place where type and order fit, converted where not, and written.
//
// Reading: versions 1 to 3, C and Fortran order, both byte orders, booleans, integers, floats (f2 f4 f8),
// fixed-width strings (S, U) and object arrays (whose payload is left to the unpickler). A header is believed
// only as far as the bytes behind it reach, so no shape can make a reader allocate more than the file holds.
//
// Writing: the header has a fixed 128 bytes, so that a streamed array's length can be filled in last.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "l2gcn/array.h"
#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// Element type of an array: kind is NumPy's letter (b i u f S U O).
struct NpyType {
  char kind = 'f';
  uint32_t bytes = 4;  // of one element; 0 for objects
  bool big_endian = false;
  std::string text;  // as in the file: "<f4"
};

// Parses "<f4", "|S3", "O8" …; throws Error(kInput) naming `where` for anything else.
NpyType ParseNpyType(std::string_view text, const std::string& where);

// A shape as NumPy writes it: "(5, 3)".
std::string ShapeText(const std::vector<uint64_t>& shape);

class NpyArray {
 public:
  NpyArray() = default;
  // A whole .npy file's bytes (mapped, or unpacked from an archive), kept alive by `owner`.
  static NpyArray Parse(std::shared_ptr<const void> owner, std::span<const uint8_t> bytes, std::string where);
  static NpyArray Open(const std::filesystem::path& path);
  // An array whose header came from elsewhere (a pickle). Throws if `bytes` does not hold the shape.
  static NpyArray FromParts(std::shared_ptr<const void> owner, NpyType type, std::vector<uint64_t> shape,
                            bool fortran, std::span<const uint8_t> bytes, std::string where);

  const NpyType& type() const { return type_; }
  const std::vector<uint64_t>& shape() const { return shape_; }
  bool fortran() const { return fortran_; }
  size_t size() const { return size_; }                          // elements
  std::span<const uint8_t> payload() const { return payload_; }  // raw elements; for objects the pickle
  const std::shared_ptr<const void>& owner() const { return owner_; }
  const std::string& where() const { return where_; }
  bool is_object() const { return type_.kind == 'O'; }
  bool is_string() const { return type_.kind == 'S' || type_.kind == 'U'; }
  bool is_float() const { return type_.kind == 'f'; }
  // Throws unless the array has this many dimensions.
  void ExpectDimensions(size_t dimensions) const;

  // All elements in C order as T (float, double, int32_t, int64_t, uint32_t, uint64_t, uint8_t); shares the
  // memory where it already is that. An integer target refuses fractions and values out of its range, naming
  // the index; NaN becomes `nan_value` if one is given.
  template <class T>
  Array<T> As(const Context& context, const T* nan_value = nullptr) const;
  Matrix AsMatrix(const Context& context) const;  // (rows × cols); one dimension is one column
  // The same as features, whose f2 elements stay as they are: never widened whole.
  Features AsFeatures(const Context& context) const;
  std::vector<std::string> AsStrings() const;  // S, U, or numbers as text
  int64_t AsScalar() const;                    // exactly one element, an integer

 private:
  std::shared_ptr<const void> owner_;
  NpyType type_;
  std::vector<uint64_t> shape_;
  bool fortran_ = false;
  size_t size_ = 0;
  std::span<const uint8_t> payload_;
  std::string where_;
};

constexpr size_t kNpyHeaderBytes = 128;

// The 128-byte header of a C-ordered array.
std::string NpyHeader(const std::string& descr, const std::vector<uint64_t>& shape);

template <class T>
const char* NpyDescr();
template <>
const char* NpyDescr<float>();
template <>
const char* NpyDescr<double>();
template <>
const char* NpyDescr<int32_t>();
template <>
const char* NpyDescr<int64_t>();
template <>
const char* NpyDescr<uint32_t>();
template <>
const char* NpyDescr<uint64_t>();
template <>
const char* NpyDescr<uint8_t>();

// Streams a C-ordered array; `rows`, the first dimension, is known only at the end.
class NpyWriter {
 public:
  NpyWriter(const std::filesystem::path& path, std::string descr, std::vector<uint64_t> inner_shape = {});
  void Write(const void* data, size_t bytes) { writer_.Write(data, bytes); }
  void Close(uint64_t rows);  // patches the header, syncs

 private:
  FileWriter writer_;
  std::string descr_;
  std::vector<uint64_t> inner_shape_;
};

template <class T>
void WriteNpy(const std::filesystem::path& path, std::span<const T> values,
              std::vector<uint64_t> shape = {}) {
  if (shape.empty()) shape = {values.size()};
  NpyWriter writer(path, NpyDescr<T>(), std::vector<uint64_t>(shape.begin() + 1, shape.end()));
  writer.Write(values.data(), values.size_bytes());
  writer.Close(shape[0]);
}

}  // namespace l2gcn
