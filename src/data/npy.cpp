#include "data/npy.h"

#include <bit>
#include <cctype>
#include <charconv>
#include <limits>

#include "core/error_format.h"

static_assert(std::endian::native == std::endian::little, "arrays are shared with little-endian files");

namespace l2gcn {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxDimensions = 32;
constexpr size_t kMaxHeader = size_t{1} << 20;

// The dict literal of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  void Parse(std::string& descr, bool& fortran, std::vector<uint64_t>& shape) {
    bool seen[3] = {false, false, false};
    Expect('{');
    while (!Accept('}')) {
      const std::string key = Quoted();
      Expect(':');
      if (key == "descr") {
        descr = Quoted();
        seen[0] = true;
      } else if (key == "fortran_order") {
        fortran = Boolean();
        seen[1] = true;
      } else if (key == "shape") {
        shape = Shape();
        seen[2] = true;
      } else {
        Fail(fmt::format("unknown key '{}'", key));
      }
      if (!Accept(',')) {
        Expect('}');
        break;
      }
    }
    if (!seen[0] || !seen[1] || !seen[2]) Fail("descr, fortran_order or shape is missing");
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    ThrowInput("{}: damaged .npy header at byte {}: {}; expected a dict with descr, fortran_order and shape",
               where_, at_, what);
  }
  void Skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool Accept(char c) {
    Skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void Expect(char c) {
    if (!Accept(c)) Fail(fmt::format("expected '{}'", c));
  }
  std::string Quoted() {
    Skip();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) {
      Fail("expected a quoted string (structured types are not supported)");
    }
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) Fail("unterminated string");
    const std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool Boolean() {
    Skip();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    Fail("expected True or False");
  }
  std::vector<uint64_t> Shape() {
    std::vector<uint64_t> shape;
    Expect('(');
    while (!Accept(')')) {
      Skip();
      uint64_t value = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc()) Fail("expected a length");
      at_ = static_cast<size_t>(end - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 long
      shape.push_back(value);
      if (shape.size() > kMaxDimensions) Fail("more than 32 dimensions");
      if (!Accept(',')) {
        Expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text_;
  const std::string& where_;
  size_t at_ = 0;
};

// Elements of `shape`; refuses products that leave 64 bits.
size_t ElementCount(const std::vector<uint64_t>& shape, const std::string& where) {
  uint64_t count = 1;
  for (const uint64_t length : shape) {
    if (__builtin_mul_overflow(count, length, &count)) {
      ThrowInput("{}: shape {} is absurd: its size leaves 64 bits", where, ShapeText(shape));
    }
  }
  return count;
}

}  // namespace

std::string ShapeText(const std::vector<uint64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

NpyType ParseNpyType(std::string_view text, const std::string& where) {
  NpyType type;
  type.text = std::string(text);
  std::string_view rest = text;
  if (!rest.empty() && std::string_view("<>|=").find(rest[0]) != std::string_view::npos) {
    type.big_endian = rest[0] == '>';
    rest.remove_prefix(1);
  }
  if (!rest.empty() && rest[0] == '?') rest = "b1";
  const bool known = !rest.empty() && std::string_view("biufSUO").find(rest[0]) != std::string_view::npos;
  uint32_t bytes = 0;
  if (known && rest.size() > 1) {
    const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), bytes);
    if (error != std::errc() || end != rest.data() + rest.size())
      bytes = std::numeric_limits<uint32_t>::max();
  }
  type.kind = known ? rest[0] : '?';
  bool valid = false;
  switch (type.kind) {
    case 'b':
      valid = bytes == 1;
      break;
    case 'i':
    case 'u':
      valid = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
      break;
    case 'f':
      valid = bytes == 2 || bytes == 4 || bytes == 8;
      break;
    case 'S':
    case 'U':
      valid = bytes <= (1u << 20);
      break;
    case 'O':
      valid = true;
      break;
    default:
      break;
  }
  if (!valid) {
    ThrowInput(
        "{}: elements of type '{}' are not supported; expected booleans, integers, floats (f2 f4 f8) or "
        "strings",
        where, text);
  }
  type.bytes = type.kind == 'U' ? bytes * 4 : type.kind == 'O' ? 0 : bytes;
  if (type.bytes <= 1) type.big_endian = false;
  return type;
}

NpyArray NpyArray::FromParts(std::shared_ptr<const void> owner, NpyType type, std::vector<uint64_t> shape,
                             bool fortran, std::span<const uint8_t> bytes, std::string where) {
  NpyArray array;
  array.owner_ = std::move(owner);
  array.type_ = std::move(type);
  array.where_ = std::move(where);
  array.shape_ = std::move(shape);
  array.fortran_ = fortran;
  array.size_ = ElementCount(array.shape_, array.where_);
  uint64_t wanted = 0;
  if (__builtin_mul_overflow(uint64_t{array.size_}, uint64_t{array.type_.bytes}, &wanted) ||
      wanted > bytes.size()) {
    ThrowInput(
        "{}: shape {} of '{}' needs more than the {} bytes that follow; the file is truncated or damaged",
        array.where_, ShapeText(array.shape_), array.type_.text, bytes.size());
  }
  // Elements without bytes (S0, U0) would let a header claim any number of them.
  if (array.type_.bytes == 0 && array.type_.kind != 'O' && array.size_ > bytes.size()) {
    ThrowInput("{}: {} empty strings are refused", array.where_, array.size_);
  }
  array.payload_ = array.is_object() ? bytes : bytes.first(wanted);
  return array;
}

NpyArray NpyArray::Parse(std::shared_ptr<const void> owner, std::span<const uint8_t> bytes,
                         std::string where) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.substr(0, kMagic.size()) != kMagic || bytes.size() < 10) {
    ThrowInput("{}: no .npy array: it does not start with \\x93NUMPY", where);
  }
  const uint8_t version = bytes[6];
  if (version < 1 || version > 3)
    ThrowInput("{}: .npy version {} is unknown; expected 1 to 3", where, version);
  size_t start = 10, length = bytes[8] | (size_t{bytes[9]} << 8);
  if (version > 1) {
    if (bytes.size() < 12) ThrowInput("{}: truncated .npy header", where);
    start = 12;
    length |= (size_t{bytes[10]} << 16) | (size_t{bytes[11]} << 24);
  }
  if (length > kMaxHeader || length > bytes.size() - start) {
    ThrowInput("{}: the .npy header claims {} bytes but {} follow; the file is truncated or damaged", where,
               length, bytes.size() - start);
  }
  std::string descr;
  bool fortran = false;
  std::vector<uint64_t> shape;
  HeaderParser(text.substr(start, length), where).Parse(descr, fortran, shape);
  NpyType type = ParseNpyType(descr, where);
  return FromParts(std::move(owner), std::move(type), std::move(shape), fortran,
                   bytes.subspan(start + length), std::move(where));
}

NpyArray NpyArray::Open(const std::filesystem::path& path) {
  const auto file = MappedFile::Open(path);
  return Parse(file, file->bytes(), path.string());
}

void NpyArray::ExpectDimensions(size_t dimensions) const {
  if (shape_.size() != dimensions) {
    ThrowInput("{}: expected an array of {} dimension{}, found shape {}", where_, dimensions,
               dimensions == 1 ? "" : "s", ShapeText(shape_));
  }
}

std::string NpyHeader(const std::string& descr, const std::vector<uint64_t>& shape) {
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(kNpyHeaderBytes - 10), '\x00'};
  header += fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, ShapeText(shape));
  L2GCN_ASSERT(header.size() < kNpyHeaderBytes);
  header.resize(kNpyHeaderBytes - 1, ' ');
  return header + '\n';
}

template <>
const char* NpyDescr<float>() {
  return "<f4";
}
template <>
const char* NpyDescr<double>() {
  return "<f8";
}
template <>
const char* NpyDescr<int32_t>() {
  return "<i4";
}
template <>
const char* NpyDescr<int64_t>() {
  return "<i8";
}
template <>
const char* NpyDescr<uint32_t>() {
  return "<u4";
}
template <>
const char* NpyDescr<uint64_t>() {
  return "<u8";
}
template <>
const char* NpyDescr<uint8_t>() {
  return "|u1";
}

NpyWriter::NpyWriter(const std::filesystem::path& path, std::string descr, std::vector<uint64_t> inner_shape)
    : writer_(path), descr_(std::move(descr)), inner_shape_(std::move(inner_shape)) {
  writer_.Write(std::string(kNpyHeaderBytes, '\0'));
}

void NpyWriter::Close(uint64_t rows) {
  std::vector<uint64_t> shape{rows};
  shape.insert(shape.end(), inner_shape_.begin(), inner_shape_.end());
  const std::string header = NpyHeader(descr_, shape);
  writer_.WriteAt(0, header.data(), header.size());
  writer_.Close();
}

}  // namespace l2gcn
