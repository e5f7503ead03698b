#include "data/edge_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/error_format.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kSmallLimit = int64_t{1} << 31;

[[noreturn]] void ThrowAtLine(const fs::path& path, uint64_t offset, const std::string& what) {
  ThrowInput("{}:{}: {}", path.string(), LineOfOffset(path, offset), what);
}

float WeightOf(std::string_view token, const EdgeTextFormat& format, size_t column, const fs::path& path,
               uint64_t offset) {
  float weight = 1;
  const bool number = ParseNumber(token, weight) || ParseGroupedNumber(token, format.separator, weight);
  if (number && std::isfinite(weight)) return weight;
  if (IsMissing(token)) {
    ThrowAtLine(
        path, offset,
        fmt::format("column {}: the weight is missing; fill it in, name another column with --weight, "
                    "or ignore weights with --weight none",
                    format.names[column]));
  }
  ThrowAtLine(path, offset,
              fmt::format("column {}: the weight '{}' is {}", format.names[column], token,
                          number ? "not finite" : "no number; name another column with --weight, or none"));
}

// The number that the 8 characters of `chunk` begin with, the first in the lowest byte; `digits` of them. Three
// multiplications instead of a loop whose end no processor can foresee.
inline uint64_t LeadingDigits(uint64_t chunk, unsigned& digits) {
  const uint64_t values = chunk ^ 0x3030303030303030;  // of digits: 0 … 9
  const uint64_t others = (values | (values + 0x0606060606060606)) & 0xf0f0f0f0f0f0f0f0;
  digits = static_cast<unsigned>(std::countr_zero(others)) / 8;  // a carry disturbs only bytes behind the end
  if (digits == 0) return 0;
  uint64_t number = values << (8 - digits) * 8;  // zeros in front
  number = number * 10 + (number >> 8);
  return ((number & 0x000000ff000000ff) * 0x000f424000000064 +
          (number >> 16 & 0x000000ff000000ff) * 0x0000271000000001) >>
         32;
}

// The digits of a small id at `at`; moves `at` past them. False if it is something else.
inline bool ParseDigits(const char*& at, const char* end, uint64_t& value) {
  const char* begin = at;
  uint64_t number = 0;
  if (std::endian::native == std::endian::little && end - at >= 8) {
    uint64_t chunk;
    std::memcpy(&chunk, at, sizeof(chunk));
    unsigned digits;
    number = LeadingDigits(chunk, digits);
    at += digits;
  }
  while (at != end && static_cast<unsigned char>(*at - '0') < 10)
    number = number * 10 + static_cast<uint64_t>(*at++ - '0');
  value = number;
  const ptrdiff_t digits = at - begin;
  return digits > 0 && digits < 11 && (digits == 1 || *begin != '0');
}

inline bool SeparatesIds(char c, char separator) { return c == separator || (separator == ' ' && c == '\t'); }

// A separator and the weight behind it; moves `at` to the weight's end. False if it is anything unusual.
inline bool ParsePlainWeight(const char*& at, const char* end, char separator, float& weight) {
  if (at == end || !SeparatesIds(*at, separator)) return false;
  const char* const begin = ++at;
  while (at != end && *at != '\n' && *at != '\r') ++at;
  return ParseNumber({begin, static_cast<size_t>(at - begin)}, weight) && std::isfinite(weight);
}

// Moves `at` behind the end of a line, if it stands there.
inline bool PassLineEnd(const char*& at, const char* end) {
  if (at != end && *at == '\r') ++at;
  if (at != end && *at != '\n') return false;
  ++at;
  return true;
}

// Where a token of an ordinary line ends: at anything that is, or may ask for, more than copying.
class PlainTokens {
 public:
  explicit PlainTokens(char separator) : separator_(separator) {
    for (const char c : {separator, '\n', '\r', '"', ' ', '\t'}) ends_[static_cast<unsigned char>(c)] = true;
  }
  size_t End(std::string_view text, size_t at) const {
    while (at < text.size() && !ends_[static_cast<unsigned char>(text[at])]) ++at;
    return at;
  }
  bool Separates(char c) const { return SeparatesIds(c, separator_); }

 private:
  char separator_;
  std::array<bool, 256> ends_{};
};

CsvReading ReadingOf(const EdgeTextFormat& format) {
  return format.quoted ? CsvReading::kStrict : CsvReading::kUnquoted;
}

// The type and the further weights of a record whose length was checked.
void AddExtras(const CsvRecords& records, const EdgeTextFormat& format, const fs::path& path,
               EdgeExtras& extras) {
  const std::span<const std::string_view> cells = records.fields();
  if (format.type) {
    if (cells[*format.type].empty()) {
      ThrowAtLine(
          path, records.offset(),
          fmt::format("column {}: expected an edge type, this cell is empty", format.names[*format.type]));
    }
    extras.types.Add(cells[*format.type]);
  }
  extras.weights.resize(format.more_weights.size());
  for (size_t k = 0; k < format.more_weights.size(); ++k) {
    const size_t column = format.more_weights[k];
    extras.weights[k].push_back(WeightOf(cells[column], format, column, path, records.offset()));
  }
}

// The ids and the weight of a record; everything about it is checked.
TextEdge EdgeOf(const CsvRecords& records, const EdgeTextFormat& format, const fs::path& path,
                EdgeExtras& extras) {
  const std::span<const std::string_view> cells = records.fields();
  if (cells.size() < 2) ThrowAtLine(path, records.offset(), "expected two node ids on the line");
  if (cells.size() != format.columns) {
    ThrowAtLine(path, records.offset(),
                fmt::format("{} cells on the line, expected {} ({}); quote cells that hold a separator",
                            cells.size(), format.columns, fmt::join(format.names, ", ")));
  }
  for (const size_t column : {format.source, format.target}) {
    if (cells[column].empty()) {
      ThrowAtLine(path, records.offset(),
                  fmt::format("column {}: expected two node ids on the line, this one is empty",
                              format.names[column]));
    }
  }
  const float weight =
      format.weighted ? WeightOf(cells[format.weight], format, format.weight, path, records.offset()) : 1.0f;
  AddExtras(records, format, path, extras);
  return {cells[format.source], cells[format.target], weight};
}

}  // namespace

void EdgeExtras::Append(EdgeExtras&& more) {
  types.Append(std::move(more.types));
  weights.resize(std::max(weights.size(), more.weights.size()));
  for (size_t k = 0; k < more.weights.size(); ++k)
    weights[k].insert(weights[k].end(), more.weights[k].begin(), more.weights[k].end());
}

void EdgeExtras::clear() {
  types.clear();
  weights.clear();
}
namespace {

// What stands behind the digits of a whole number among fractions: .0, or .38e+02 where the exponent makes it whole, as
// numpy.savetxt writes. The digits that belong to the number are appended to it.
bool TakeFraction(std::string_view rest, int64_t& id) {
  if (rest.size() < 2 || rest[0] != '.') return false;
  const size_t e = std::min(rest.find('e'), rest.size());
  int exponent = 0;
  if (e < rest.size()) {
    const std::string_view digits = rest.substr(std::min(e + 2, rest.size()));
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (!rest.substr(e + 1).starts_with('+') || digits.size() != 2 || error != std::errc() ||
        end != digits.data() + digits.size())
      return false;
  }
  const std::string_view fraction = rest.substr(1, e - 1);
  const int64_t sign = id < 0 ? -1 : 1;
  for (size_t i = 0; i < std::max(fraction.size(), static_cast<size_t>(exponent)); ++i) {
    const char digit = i < fraction.size() ? fraction[i] : '0';
    if (digit < '0' || digit > '9') return false;
    if (i >= static_cast<size_t>(exponent)) {
      if (digit != '0') return false;
    } else if (__builtin_mul_overflow(id, 10, &id) || __builtin_add_overflow(id, sign * (digit - '0'), &id)) {
      return false;
    }
  }
  return !fraction.empty();
}

}  // namespace

bool ParseId(std::string_view token, int64_t& id) {
  const char* const last = token.data() + token.size();
  const auto [end, error] = std::from_chars(token.data(), last, id);
  if (error != std::errc()) return false;
  if (end != last) {
    const std::string_view rest(end, static_cast<size_t>(last - end));
    if (!TakeFraction(rest, id)) return false;
    token.remove_suffix(rest.size());
  }
  const std::string_view digits = token[0] == '-' ? token.substr(1) : token;
  return digits.size() == 1 ? token[0] != '-' || digits[0] != '0' : digits[0] != '0';
}

namespace {

// The narrowest kind that `token` fits, and the id where it is a number.
IdKind TakeId(std::string_view token, int64_t& id) {
  if (!ParseId(token, id)) return IdKind::kText;
  return id >= 0 && id < kSmallLimit ? IdKind::kSmall : IdKind::kInteger;
}

}  // namespace

IdKind KindOfId(std::string_view token) {
  int64_t id = 0;
  return TakeId(token, id);
}

TextSource EdgeBlocks(const fs::path& path, const EdgeTextFormat& format) {
  if (format.quoted) return TextSource::OfRecords(path, format.separator, /*comments=*/true);
  return TextSource(path);
}

void ParseSmallEdges(TextBlock& block, const EdgeTextFormat& format, const fs::path& path, SmallEdges& out) {
  out.source.clear();
  out.target.clear();
  out.weights.clear();
  out.extras.clear();
  const char* const begin = block.text.data();
  const char* const end = begin + block.text.size();
  const char separator = format.separator;
  const char* at = begin;
  bool skip_header = format.header && block.number == 0;
  const bool plain = format.plain();
  CsvRecords records(path, block, separator, /*comments=*/true, ReadingOf(format));
  while (at < end) {
    const char* const line = at;
    uint64_t source = 0, target = 0;
    float weight = 1;
    // The usual line: digits, one separator, digits, perhaps a weight, end of line.
    if (plain && !skip_header && ParseDigits(at, end, source) && at != end && SeparatesIds(*at, separator) &&
        ParseDigits(++at, end, target) &&
        (!format.weighted || ParsePlainWeight(at, end, separator, weight))) {
      if ((source | target) >= static_cast<uint64_t>(kSmallLimit)) throw NeedsWiderIds{IdKind::kInteger};
      if (PassLineEnd(at, end)) {
        out.source.push_back(static_cast<uint32_t>(source));
        out.target.push_back(static_cast<uint32_t>(target));
        if (format.weighted) out.weights.push_back(weight);
        continue;
      }
    }
    records.MoveTo(static_cast<size_t>(line - begin));
    if (!records.Next()) return;
    at = begin + records.position();
    if (skip_header) {
      skip_header = false;
      continue;
    }
    const TextEdge edge = EdgeOf(records, format, path, out.extras);
    int64_t from = 0, to = 0;
    const IdKind kind = std::max(TakeId(edge.source, from), TakeId(edge.target, to));
    if (kind != IdKind::kSmall) throw NeedsWiderIds{kind};
    out.source.push_back(static_cast<uint32_t>(from));
    out.target.push_back(static_cast<uint32_t>(to));
    if (format.weighted) out.weights.push_back(edge.weight);
  }
}

void ParseTextEdges(TextBlock& block, const EdgeTextFormat& format, const fs::path& path,
                    std::vector<TextEdge>& out, EdgeExtras& extras) {
  out.clear();
  extras.clear();
  bool skip_header = format.header && block.number == 0;
  const bool plain = format.plain();
  const PlainTokens tokens(format.separator);
  const std::string_view text = block.text;
  CsvRecords records(path, block, format.separator, /*comments=*/true, ReadingOf(format));
  for (size_t at = 0; at < text.size();) {
    // The usual line: a token, one separator, a token, perhaps a weight, and its end.
    const size_t source_end = tokens.End(text, at), target_end = tokens.End(text, source_end + 1);
    const char* line_end = text.data() + std::min(target_end, text.size());
    float weight = 1;
    if (plain && !skip_header && text[at] != '#' && text[at] != '%' && source_end > at &&
        target_end > source_end + 1 && tokens.Separates(text[source_end]) &&
        (!format.weighted ||
         ParsePlainWeight(line_end, text.data() + text.size(), format.separator, weight)) &&
        line_end < text.data() + text.size() && *line_end == '\n') {
      out.push_back({text.substr(at, source_end - at),
                     text.substr(source_end + 1, target_end - source_end - 1), weight});
      at = static_cast<size_t>(line_end - text.data()) + 1;
      continue;
    }
    records.MoveTo(at);
    if (!records.Next()) return;
    at = records.position();
    if (skip_header) {
      skip_header = false;
      continue;
    }
    out.push_back(EdgeOf(records, format, path, extras));
  }
}

}  // namespace l2gcn
