// The elements of an array as numbers, matrices and text.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/error_format.h"
#include "core/threads.h"
#include "data/npy.h"

namespace l2gcn {
namespace {

constexpr size_t kValueGrain = size_t{1} << 16;

struct Half {
  uint16_t bits;
};
double Widen(Half value) { return WidenHalf(value.bits, FeatureType::kF16); }
template <class S>
S Widen(S value) {
  return value;
}

template <class S>
S LoadElement(const uint8_t* at, bool swap) {
  uint8_t raw[sizeof(S)];
  std::memcpy(raw, at, sizeof(S));
  if (swap) std::reverse(raw, raw + sizeof(S));
  S value;
  std::memcpy(&value, raw, sizeof(S));
  return value;
}

// Whether `value` can be a T; floats take everything.
template <class T, class S>
bool Fits(S value) {
  if constexpr (std::is_floating_point_v<T>) {
    return true;
  } else if constexpr (std::is_floating_point_v<S>) {
    return value == std::trunc(value) && value >= static_cast<S>(std::numeric_limits<T>::min()) &&
           value < std::ldexp(S{1}, std::numeric_limits<T>::digits);
  } else {
    return std::in_range<T>(value);
  }
}

// Where element i of the C order lies in the file's order.
class OrderMap {
 public:
  OrderMap(const std::vector<uint64_t>& shape, bool fortran)
      : shape_(shape), fortran_(fortran && shape.size() > 1) {
    strides_.resize(shape.size());
    uint64_t stride = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      strides_[d] = stride;
      stride *= shape[d];
    }
  }
  size_t operator()(size_t i) const {
    if (!fortran_) return i;
    size_t at = 0;
    for (size_t d = shape_.size(); d-- > 0;) {
      at += i % shape_[d] * strides_[d];
      i /= shape_[d];
    }
    return at;
  }

 private:
  const std::vector<uint64_t>& shape_;
  bool fortran_;
  std::vector<uint64_t> strides_;
};

// Fills out[begin … end) from elements of type S. Throws at the first value that is no T.
template <class T, class S>
void ConvertRange(const NpyArray& array, const OrderMap& order, T* out, size_t begin, size_t end,
                  const T* nan_value) {
  const uint8_t* data = array.payload().data();
  const bool swap = array.type().big_endian;
  for (size_t i = begin; i < end; ++i) {
    const auto value = Widen(LoadElement<S>(data + order(i) * sizeof(S), swap));
    if constexpr (std::is_floating_point_v<decltype(value)>) {
      if (nan_value != nullptr && std::isnan(value)) {
        out[i] = *nan_value;
        continue;
      }
    }
    if (!Fits<T>(value)) {
      ThrowInput("{}: element {} is {}, which is no whole number between {} and {}", array.where(), i, value,
                 std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    }
    out[i] = static_cast<T>(value);
  }
}

// The T, S pair of this array's type.
template <class T>
void ConvertAny(const NpyArray& array, const OrderMap& order, T* out, size_t begin, size_t end,
                const T* nan_value) {
  const NpyType& type = array.type();
  const auto as = [&]<class S>(S) { ConvertRange<T, S>(array, order, out, begin, end, nan_value); };
  switch (type.kind) {
    case 'f':
      if (type.bytes == 2) return as(Half{});
      if (type.bytes == 4) return as(float{});
      return as(double{});
    case 'b':
      return as(uint8_t{});
    case 'i':
      if (type.bytes == 1) return as(int8_t{});
      if (type.bytes == 2) return as(int16_t{});
      if (type.bytes == 4) return as(int32_t{});
      return as(int64_t{});
    case 'u':
      if (type.bytes == 1) return as(uint8_t{});
      if (type.bytes == 2) return as(uint16_t{});
      if (type.bytes == 4) return as(uint32_t{});
      return as(uint64_t{});
    default:
      ThrowInput("{}: elements of type '{}' are no numbers", array.where(), type.text);
  }
}

template <class T>
bool SameType(const NpyType& type) {
  constexpr char kKind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
  const bool kind_fits = type.kind == kKind || (type.kind == 'b' && sizeof(T) == 1);
  return kind_fits && type.bytes == sizeof(T) && !type.big_endian;
}

void AppendUtf8(std::string& text, uint32_t code, const std::string& where) {
  if (code > 0x10FFFF) ThrowInput("{}: {:#x} is no character", where, code);
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | (code >> 6));
    text += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | (code >> 12));
    text += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    text += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    text += static_cast<char>(0xF0 | (code >> 18));
    text += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    text += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    text += static_cast<char>(0x80 | (code & 0x3F));
  }
}

}  // namespace

template <class T>
Array<T> NpyArray::As(const Context& context, const T* nan_value) const {
  const bool c_order = !fortran_ || shape_.size() <= 1;
  const bool aligned = reinterpret_cast<uintptr_t>(payload_.data()) % alignof(T) == 0;
  if (SameType<T>(type_) && c_order && aligned && nan_value == nullptr) {
    return Array<T>::Borrow(owner_, reinterpret_cast<const T*>(payload_.data()), size_);
  }
  if (is_object() || is_string())
    ThrowInput("{}: expected numbers, found elements of type '{}'", where_, type_.text);
  Array<T> values = Array<T>::Allocate(size_);
  const OrderMap order(shape_, fortran_);
  ParallelFor(context, size_, kValueGrain, [&](size_t begin, size_t end) {
    ConvertAny<T>(*this, order, values.mutable_data(), begin, end, nan_value);
  });
  return values;
}

template Array<float> NpyArray::As(const Context&, const float*) const;
template Array<double> NpyArray::As(const Context&, const double*) const;
template Array<int32_t> NpyArray::As(const Context&, const int32_t*) const;
template Array<int64_t> NpyArray::As(const Context&, const int64_t*) const;
template Array<uint32_t> NpyArray::As(const Context&, const uint32_t*) const;
template Array<uint64_t> NpyArray::As(const Context&, const uint64_t*) const;
template Array<uint8_t> NpyArray::As(const Context&, const uint8_t*) const;

Matrix NpyArray::AsMatrix(const Context& context) const {
  if (shape_.size() != 1) ExpectDimensions(2);
  Matrix matrix;
  matrix.rows = shape_[0];
  matrix.cols = shape_.size() == 1 ? 1 : shape_[1];
  matrix.values = As<float>(context);
  return matrix;
}

Features NpyArray::AsFeatures(const Context& context) const {
  if (shape_.size() != 1) ExpectDimensions(2);
  const size_t rows = shape_[0], cols = shape_.size() == 1 ? 1 : shape_[1];
  const bool c_order = !fortran_ || shape_.size() <= 1;
  const bool aligned = reinterpret_cast<uintptr_t>(payload_.data()) % alignof(uint16_t) == 0;
  if (type_.kind != 'f' || type_.bytes != 2 || type_.big_endian || !c_order || !aligned) {
    return Features::Dense(AsMatrix(context));
  }
  const auto* elements = reinterpret_cast<const uint16_t*>(payload_.data());
  return Features::Stored(FeatureType::kF16, Array<uint16_t>::Borrow(owner_, elements, size_), rows, cols);
}

std::vector<std::string> NpyArray::AsStrings() const {
  std::vector<std::string> strings;
  if (!is_string()) {
    for (const int64_t value : As<int64_t>(Context{})) strings.push_back(std::to_string(value));
    return strings;
  }
  strings.reserve(size_);  // believed only now: the payload has bytes for so many, an object array's need not
  const OrderMap order(shape_, fortran_);
  for (size_t i = 0; i < size_; ++i) {
    const uint8_t* at = payload_.data() + order(i) * type_.bytes;
    std::string text;
    if (type_.kind == 'S') {
      size_t length = type_.bytes;
      while (length > 0 && at[length - 1] == 0) --length;
      text.assign(reinterpret_cast<const char*>(at), length);
    } else {
      for (size_t c = 0; c < type_.bytes; c += 4) {
        const auto code = LoadElement<uint32_t>(at + c, type_.big_endian);
        if (code == 0) break;
        AppendUtf8(text, code, where_);
      }
    }
    strings.push_back(std::move(text));
  }
  return strings;
}

int64_t NpyArray::AsScalar() const {
  if (size_ != 1) ThrowInput("{}: expected one number, found shape {}", where_, ShapeText(shape_));
  return As<int64_t>(Context{})[0];
}

}  // namespace l2gcn
