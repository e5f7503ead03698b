#include "data/edge_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "core/error_format.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kSmallLimit = int64_t{1} << 31;

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

std::string_view Trim(std::string_view token) {
  while (!token.empty() && (IsBlank(token.front()) || token.front() == '\r')) token.remove_prefix(1);
  while (!token.empty() && (IsBlank(token.back()) || token.back() == '\r')) token.remove_suffix(1);
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"')
    token = token.substr(1, token.size() - 2);
  return token;
}

bool IsComment(std::string_view line) { return line.empty() || line[0] == '#' || line[0] == '%'; }

// visit(line, offset in text) for each line with something on it.
template <class Visit>
void ForEachEntry(std::string_view text, const Visit& visit) {
  ForEachLine(text, [&](std::string_view line, size_t at) {
    if (!IsComment(line) && !Trim(line).empty()) visit(line, at);
  });
}

// The first `count` fields of a line; returns how many there are of them.
size_t Fields(std::string_view line, char separator, std::string_view* fields, size_t count) {
  size_t found = 0, at = 0;
  if (separator == ' ') {
    while (found < count) {
      while (at < line.size() && IsBlank(line[at])) ++at;
      if (at == line.size()) break;
      const size_t begin = at;
      while (at < line.size() && !IsBlank(line[at])) ++at;
      fields[found++] = Trim(line.substr(begin, at - begin));
    }
    return found;
  }
  while (found < count && at <= line.size()) {
    const size_t end = std::min(line.find(separator, at), line.size());
    fields[found++] = Trim(line.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

// Column names that a header of an edge list carries.
bool IsEndpointName(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* known : {"source", "src",  "from", "target", "dst",   "dest",  "destination", "to",
                            "id_1",   "id_2", "id1",  "id2",    "node1", "node2", "node_1",      "node_2",
                            "u",      "v",    "head", "tail",   "start", "end"}) {
    if (lower == known) return true;
  }
  return false;
}

[[noreturn]] void ThrowAtLine(const fs::path& path, uint64_t offset, const std::string& what) {
  ThrowInput("{}:{}: {}", path.string(), LineOfOffset(path, offset), what);
}

float WeightOf(std::string_view token, const fs::path& path, uint64_t offset) {
  float weight = 1;
  if (!ParseNumber(token, weight)) {
    ThrowAtLine(
        path, offset,
        fmt::format("the weight '{}' is no number; the third column of an edge list is the weight", token));
  }
  return weight;
}

// The digits of a small id at `at`; moves `at` past them. False if it is something else.
inline bool ParseDigits(const char*& at, const char* end, uint64_t& value) {
  const char* begin = at;
  uint64_t number = 0;
  while (at != end && static_cast<unsigned char>(*at - '0') < 10)
    number = number * 10 + static_cast<uint64_t>(*at++ - '0');
  value = number;
  const ptrdiff_t digits = at - begin;
  return digits > 0 && digits < 11 && (digits == 1 || *begin != '0');
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
  bool Separates(char c) const { return c == separator_ || (separator_ == ' ' && c == '\t'); }

 private:
  char separator_;
  std::array<bool, 256> ends_{};
};

}  // namespace

bool ParseId(std::string_view token, int64_t& id) {
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), id);
  if (error != std::errc() || end != token.data() + token.size()) return false;
  const std::string_view digits = token[0] == '-' ? token.substr(1) : token;
  return digits.size() == 1 ? token[0] != '-' || digits[0] != '0' : digits[0] != '0';
}

bool ParseNumber(std::string_view token, float& number) {
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), number);
  if (error == std::errc::result_out_of_range && end == token.data() + token.size()) {
    number = 0;  // from_chars leaves it untouched: too small, or too large to be of use
    double wide = 0;
    const auto [wide_end, wide_error] = std::from_chars(token.data(), token.data() + token.size(), wide);
    if (wide_error == std::errc()) number = static_cast<float>(wide);
    return true;
  }
  return error == std::errc() && end == token.data() + token.size();
}

IdKind KindOfId(std::string_view token) {
  int64_t id = 0;
  if (!ParseId(token, id)) return IdKind::kText;
  return id >= 0 && id < kSmallLimit ? IdKind::kSmall : IdKind::kInteger;
}

char SeparatorOf(std::string_view line) {
  for (const char separator : {'\t', ',', ';'}) {
    if (line.find(separator) != std::string_view::npos) return separator;
  }
  const std::string_view trimmed = Trim(line);
  return trimmed.find(' ') != std::string_view::npos ? ' ' : '\0';
}

EdgeTextFormat SniffEdgeText(const fs::path& path) {
  TextSource source(path, TextSource::kSniffBytes);
  TextBlock block;
  EdgeTextFormat format;
  size_t lines = 0;
  bool first_is_text = false, first_is_named = false;
  bool weight_fits[2] = {false, false};  // for the first line and the second
  if (source.Next(block)) {
    ForEachEntry(block.text, [&](std::string_view line, size_t offset) {
      if (lines == 0) {
        format.separator = SeparatorOf(line);
        // Blanks around other separators are trimmed; a tab alone may stand for blanks.
        if (format.separator == '\t') format.separator = ' ';
      }
      std::string_view fields[3];
      const size_t count = Fields(line, format.separator, fields, 3);
      if (count < 2 || format.separator == '\0')
        ThrowAtLine(path, offset, "expected two node ids on the line");
      const IdKind kind = std::max(KindOfId(fields[0]), KindOfId(fields[1]));
      float weight = 0;
      if (lines < 2) weight_fits[lines] = count > 2 && ParseNumber(fields[2], weight);
      if (lines++ == 0) {
        first_is_text = kind == IdKind::kText;
        first_is_named = IsEndpointName(fields[0]) && IsEndpointName(fields[1]);
      } else {
        format.ids = std::max(format.ids, kind);
      }
    });
  }
  if (lines == 0) ThrowInput("{}: the edge list is empty", path.string());
  // A first line of words above lines of numbers is a header; above lines of words only known column names
  // are.
  format.header = first_is_named || (first_is_text && lines > 1 && format.ids != IdKind::kText);
  if (!format.header && first_is_text) format.ids = IdKind::kText;
  format.weighted = weight_fits[format.header ? 1 : 0];
  return format;
}

void ParseSmallEdges(const TextBlock& block, const EdgeTextFormat& format, const fs::path& path,
                     SmallEdges& out) {
  out.source.clear();
  out.target.clear();
  out.weights.clear();
  const char* const begin = block.text.data();
  const char* const end = begin + block.text.size();
  const char separator = format.separator;
  const char* at = begin;
  bool skip_header = format.header && block.number == 0;
  while (at < end) {
    const char* const line = at;
    uint64_t source = 0, target = 0;
    // The usual line: digits, one separator, digits, end of line or separator.
    if (ParseDigits(at, end, source) && at != end &&
        (*at == separator || (separator == ' ' && *at == '\t')) && (++at, ParseDigits(at, end, target)) &&
        !skip_header) {
      if ((source | target) >= static_cast<uint64_t>(kSmallLimit)) throw NeedsWiderIds{IdKind::kInteger};
      if (at != end && *at == '\r') ++at;
      if (at == end || *at == '\n') {
        out.source.push_back(static_cast<uint32_t>(source));
        out.target.push_back(static_cast<uint32_t>(target));
        if (format.weighted)
          ThrowAtLine(path, block.offset + static_cast<uint64_t>(line - begin), "its weight is missing");
        ++at;
        continue;
      }
    }
    const auto* newline = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
    const char* line_end = newline == nullptr ? end : newline;
    at = line_end + 1;
    ForEachEntry({line, static_cast<size_t>(line_end - line)}, [&](std::string_view text, size_t) {
      if (skip_header) {
        skip_header = false;
        return;
      }
      std::string_view fields[3];
      const size_t count = Fields(text, separator, fields, 3);
      const uint64_t offset = block.offset + static_cast<uint64_t>(line - begin);
      if (count < 2 || fields[0].empty() || fields[1].empty())
        ThrowAtLine(path, offset, "expected two node ids on the line");
      const IdKind kind = std::max(KindOfId(fields[0]), KindOfId(fields[1]));
      if (kind != IdKind::kSmall) throw NeedsWiderIds{kind};
      int64_t from = 0, to = 0;
      ParseId(fields[0], from);
      ParseId(fields[1], to);
      out.source.push_back(static_cast<uint32_t>(from));
      out.target.push_back(static_cast<uint32_t>(to));
      if (format.weighted)
        out.weights.push_back(WeightOf(count > 2 ? fields[2] : std::string_view(), path, offset));
    });
  }
}

void ParseTextEdges(const TextBlock& block, const EdgeTextFormat& format, const fs::path& path,
                    std::vector<TextEdge>& out) {
  out.clear();
  bool skip_header = format.header && block.number == 0;
  const auto parse_line = [&](std::string_view line, size_t at) {
    if (skip_header) {
      skip_header = false;
      return;
    }
    std::string_view fields[3];
    const size_t count = Fields(line, format.separator, fields, format.weighted ? 3 : 2);
    if (count < 2 || fields[0].empty() || fields[1].empty()) {
      ThrowAtLine(path, block.offset + at, "expected two node ids on the line");
    }
    const float weight = format.weighted
                             ? WeightOf(count > 2 ? fields[2] : std::string_view(), path, block.offset + at)
                             : 1.0f;
    out.push_back({fields[0], fields[1], weight});
  };
  const PlainTokens tokens(format.separator);
  const std::string_view text = block.text;
  for (size_t at = 0; at < text.size();) {
    // The usual line: a token, one separator, a token, and its end.
    const size_t source_end = tokens.End(text, at), target_end = tokens.End(text, source_end + 1);
    if (!skip_header && !format.weighted && !IsComment(text.substr(at, 1)) && source_end > at &&
        target_end > source_end + 1 && target_end < text.size() && tokens.Separates(text[source_end]) &&
        text[target_end] == '\n') {
      out.push_back(
          {text.substr(at, source_end - at), text.substr(source_end + 1, target_end - source_end - 1), 1.0f});
      at = target_end + 1;
      continue;
    }
    const size_t end = std::min(text.find('\n', at), text.size());
    ForEachEntry(text.substr(at, end - at), [&](std::string_view line, size_t) { parse_line(line, at); });
    at = end + 1;
  }
}

}  // namespace l2gcn
