#include "data/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "core/error_format.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr const char* kInnerReturn = "a carriage return stands inside the line; end all lines alike";
constexpr size_t kSeparatorRecords = 64;  // So many records decide about the separator.
constexpr size_t kSeparatorBytes = size_t{1} << 16;

bool IsBlankChar(char c) { return c == ' ' || c == '\t'; }

// The characters that end a cell, or that say that a line is no plain one.
MarkedChars CharsThatEndCells(char separator) {
  return {separator == '\0' ? '\n' : separator, separator == ' ' ? '\t' : '\n', '\n', '\r', '"'};
}

size_t BehindLine(std::string_view text, size_t at) {
  return std::min(text.find('\n', at), text.size() - 1) + 1;
}

bool IsCommentLine(std::string_view line) { return !line.empty() && (line[0] == '#' || line[0] == '%'); }

// Whether the quote at `at` opens a cell: nothing but blanks stands between it and a separator or a line's
// start.
bool OpensCell(std::string_view text, size_t at, char separator) {
  if (separator == ' ') return at == 0 || IsBlankChar(text[at - 1]) || text[at - 1] == '\n';
  while (at > 0 && text[at - 1] == ' ') --at;
  return at == 0 || text[at - 1] == separator || text[at - 1] == '\n';
}

// Tells for places in ascending order whether they lie on a comment line. Each byte is looked at once, however long
// lines are.
class CommentLines {
 public:
  explicit CommentLines(std::string_view text) : text_(text) {}
  bool Hold(size_t at) {
    const size_t newline = text_.substr(seen_, at - seen_).rfind('\n');
    if (newline != std::string_view::npos) line_ = seen_ + newline + 1;
    seen_ = at;
    return IsCommentLine(text_.substr(line_, 1));
  }

 private:
  std::string_view text_;
  size_t seen_ = 0, line_ = 0;  // up to where newlines are known; where the line begins that holds this place
};

// The position behind the quote that closes the cell opened before `at`; npos if none does.
size_t BehindClosingQuote(std::string_view text, size_t at) {
  for (;;) {
    const size_t quote = text.find('"', at);
    if (quote == std::string_view::npos) return quote;
    if (quote + 1 >= text.size() || text[quote + 1] != '"') return quote + 1;
    at = quote + 2;
  }
}

bool AllDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Whether these are digits with `mark` between groups of three, with at least one group behind a mark.
bool IsGrouped(std::string_view whole, char mark) {
  const size_t first = whole.find(mark);
  if (first == std::string_view::npos || first == 0 || first > 3) return false;
  if (!AllDigits(whole.substr(0, first))) return false;
  for (size_t at = first; at < whole.size(); at += 4) {
    if (whole[at] != mark || !AllDigits(whole.substr(at + 1, 3)) || whole.size() - at < 4) return false;
  }
  return true;
}

// Whether a cell looks as if another separator had been meant.
bool HoldsOtherSeparator(std::string_view cell, char separator) {
  float number = 0;
  for (const char other : {'\t', ',', ';', '|'}) {
    if (other == separator || cell.find(other) == std::string_view::npos) continue;
    if (other == ',' && ParseGroupedNumber(cell, ';', number)) continue;
    return true;
  }
  return false;
}

// How well a separator fits: 0 where it does not occur, 1 where it leads to a mistake, 2 more for cells
// without other separators, 4 more for equally many cells in every record.
int FitOfSeparator(const fs::path& path, const std::string& text, char separator, bool comments) {
  TextBlock copy{0, 0, text};
  CsvRecords records(path, copy, separator, comments, CsvReading::kSniffing);
  size_t columns = 0, seen = 0;
  bool equal = true, clean = true;
  while (seen < kSeparatorRecords && records.Next()) {
    if (seen++ == 0) columns = records.fields().size();
    if (columns < 2) return 0;
    equal = equal && records.fields().size() == columns;
    for (const std::string_view cell : records.fields())
      clean = clean && !HoldsOtherSeparator(cell, separator);
  }
  if (seen == 0) return 0;
  return records.refused() ? 1 : 1 + (clean ? 2 : 0) + (equal ? 4 : 0);
}

}  // namespace

std::string_view TrimBlanks(std::string_view text) {
  while (!text.empty() && IsBlankChar(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlankChar(text.back())) text.remove_suffix(1);
  return text;
}

CsvRecords::CsvRecords(const fs::path& path, TextBlock& block, char separator, bool comments,
                       CsvReading reading)
    : path_(path),
      block_(block),
      separator_(separator),
      comments_(comments),
      reading_(reading),
      marks_(CharsThatEndCells(separator)) {}

bool CsvRecords::Refuse(size_t at, const char* what) {
  at_ = block_.text.size();
  refused_ = true;
  if (reading_ == CsvReading::kSniffing) return false;
  ThrowInput("{}:{}: column {}: {}", path_.string(), LineOfOffset(path_, block_.offset + at), count_ + 1,
             what);
}

bool CsvRecords::Next() {
  const std::string_view text = block_.text;
  while (at_ < text.size()) {
    begin_ = at_;
    if (comments_ && IsCommentLine(text.substr(at_, 1))) {
      at_ = BehindLine(text, at_);
      continue;
    }
    switch (SplitPlain()) {
      case LineKind::kRecord:
        return true;
      case LineKind::kBlank:
        continue;
      case LineKind::kBroken:
        return Refuse(begin_, kInnerReturn);
      case LineKind::kQuoted:
        break;
    }
    if (reading_ == CsvReading::kUnquoted) throw NeedsQuotes{};
    return SplitQuoted();
  }
  return false;
}

CsvRecords::LineKind CsvRecords::SplitPlain() {
  const std::string_view text = block_.text;
  const char separator = separator_;
  const bool blanks = separator == ' ';
  TextMarks marks = marks_;  // A copy that nothing else can reach stays in registers.
  marks.MoveTo(text, begin_);
  count_ = 0;
  for (size_t cell = begin_;;) {
    const size_t mark = marks.Next(text);
    const char c = mark < text.size() ? text[mark] : '\n';
    if (c == separator || (blanks && c == '\t')) {
      if (!blanks || mark > cell) Add(TrimBlanks(text.substr(cell, mark - cell)));
      cell = mark + 1;
      continue;
    }
    if (c == '"') return LineKind::kQuoted;
    const bool inner_return = c == '\r' && mark + 1 < text.size() && text[mark + 1] != '\n';
    if (inner_return) return BrokenLine(mark);
    marks_ = marks;
    at_ = mark + (c == '\r' ? 2 : 1);
    const std::string_view last = TrimBlanks(text.substr(cell, mark - cell));
    if (count_ == 0 && last.empty()) return LineKind::kBlank;
    if (!blanks || !last.empty()) Add(last);
    return LineKind::kRecord;
  }
}

// A quote further on in the line says that the carriage return may stand in a quoted cell.
CsvRecords::LineKind CsvRecords::BrokenLine(size_t at) {
  const std::string_view text = block_.text;
  const std::string_view rest = text.substr(at, BehindLine(text, at) - at);
  count_ = 0;
  return rest.find('"') == std::string_view::npos ? LineKind::kBroken : LineKind::kQuoted;
}

bool CsvRecords::SplitQuoted() {
  count_ = 0;
  const std::string& text = block_.text;
  for (size_t at = begin_;; ++at) {
    while (at < text.size() && (text[at] == ' ' || (text[at] == '\t' && separator_ == ' '))) ++at;
    const bool ended = at >= text.size() || text[at] == '\n' || text.compare(at, 2, "\r\n") == 0;
    if (separator_ != ' ' || !ended) {
      const bool quoted = at < text.size() && text[at] == '"';
      if (!(quoted ? TakeQuoted(at) : TakePlain(at))) return false;
    }
    if (at < text.size() && text[at] == '\r') ++at;
    if (at >= text.size() || text[at] == '\n') {
      at_ = at + 1;
      return true;
    }
  }
}

// Takes a cell from its opening quote to what ends it: a separator, CR, LF or the end.
bool CsvRecords::TakeQuoted(size_t& at) {
  std::string& text = block_.text;
  const size_t opening = at, begin = at + 1;
  size_t write = begin, read = begin;
  for (;;) {
    const size_t quote = text.find('"', read);
    if (quote == std::string::npos) {
      if (reading_ != CsvReading::kSniffing) return Refuse(opening, "a quote is opened and never closed");
      at_ = text.size();  // the rest of the cell may lie behind the beginning that is looked at
      return false;
    }
    if (write != read) std::memmove(&text[write], &text[read], quote - read);
    write += quote - read;
    read = quote + 1;
    if (read >= text.size() || text[read] != '"') break;
    text[write++] = '"';
    ++read;
  }
  at = read;
  while (at < text.size() && (text[at] == ' ' || (text[at] == '\t' && separator_ != '\t'))) ++at;
  const bool ends = at >= text.size() || text[at] == separator_ || text[at] == '\n' ||
                    text.compare(at, 2, "\r\n") == 0 || text.compare(at, std::string::npos, "\r") == 0 ||
                    (separator_ == ' ' && at > read);
  if (!ends)
    return Refuse(opening, "text stands behind the closing quote; double quotes that belong to the cell");
  if (separator_ == ' ' && at > read) --at;  // the blank that separates
  Add(std::string_view(text).substr(begin, write - begin));
  return true;
}

bool CsvRecords::TakePlain(size_t& at) {
  const std::string& text = block_.text;
  const size_t begin = at;
  while (at < text.size() && text[at] != '\n' && text[at] != separator_ &&
         !(separator_ == ' ' && text[at] == '\t')) {
    ++at;
  }
  size_t end = at;
  if (end > begin && text[end - 1] == '\r' && (end == text.size() || text[end] == '\n')) at = --end;
  const std::string_view cell = std::string_view(text).substr(begin, end - begin);
  if (cell.find('\r') != std::string_view::npos) return Refuse(begin, kInnerReturn);
  Add(TrimBlanks(cell));
  return true;
}

char FindSeparator(const fs::path& path, const TextBlock& block, bool comments) {
  if (block.separator != '\0') return block.separator;
  std::string text = block.text.substr(0, kSeparatorBytes);
  if (text.size() < block.text.size()) text.resize(text.rfind('\n') + 1);
  if (text.empty()) text = block.text;
  char best = '\0';
  int best_fit = 0;
  for (const char separator : {'\t', ',', ';', '|'}) {
    const int fit = FitOfSeparator(path, text, separator, comments);
    if (fit > best_fit) best = separator, best_fit = fit;
  }
  const int blanks = FitOfSeparator(path, text, ' ', comments);
  // Tabs that do not cut evenly are blanks among blanks.
  if (best == '\0' || (best == '\t' && best_fit < 4 && blanks > best_fit)) return blanks > 0 ? ' ' : '\0';
  return best;
}

size_t LastRecordEnd(std::string_view text, char separator, bool comments) {
  size_t last = std::string_view::npos;
  CommentLines comment_lines(text);
  for (size_t at = 0;;) {
    size_t quote = text.find('"', at);
    while (quote != std::string_view::npos &&
           (!OpensCell(text, quote, separator) || (comments && comment_lines.Hold(quote)))) {
      quote = text.find('"', quote + 1);
    }
    const std::string_view plain = text.substr(at, quote == std::string_view::npos ? quote : quote - at);
    if (const size_t newline = plain.rfind('\n'); newline != std::string_view::npos) last = at + newline + 1;
    if (quote == std::string_view::npos) return last;
    at = BehindClosingQuote(text, quote + 1);
    if (at == std::string_view::npos) return last;
  }
}

namespace {

// A number of few digits without an exponent, as most are. Its digits as a whole number and the power of
// ten that divides it are exact as floats, so the quotient is rounded once: the same float as from_chars
// finds. False where the number is longer, or is none.
bool ParseShortNumber(std::string_view token, float& number) {
  constexpr std::array<float, 9> kPowers = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f};
  constexpr uint32_t kExactBelow = uint32_t{1} << 24;
  const bool negative = token.starts_with('-');
  if (negative) token.remove_prefix(1);
  if (token.empty() || token.size() > kPowers.size()) return false;
  uint32_t digits = 0;
  size_t point = token.size() - 1;  // where the point stands, or the last digit of a whole number
  bool pointed = false;
  for (size_t i = 0; i < token.size(); ++i) {
    const auto digit = static_cast<unsigned char>(token[i] - '0');
    if (digit < 10) {
      digits = digits * 10 + digit;
    } else if (token[i] == '.' && !pointed && i > 0 && i + 1 < token.size()) {
      pointed = true;
      point = i;
    } else {
      return false;
    }
  }
  if (digits >= kExactBelow) return false;
  const float size = static_cast<float>(digits) / kPowers[token.size() - 1 - point];
  number = negative ? -size : size;
  return true;
}

}  // namespace

bool ParseNumber(std::string_view token, float& number) {
  if (ParseShortNumber(token, number)) return true;
  if (token.size() > 1 && token[0] == '+' && token[1] != '-') token.remove_prefix(1);
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), number);
  if (end != token.data() + token.size() || token.empty()) return false;
  if (error == std::errc::result_out_of_range) {
    number = static_cast<float>(std::strtod(std::string(token).c_str(), nullptr));  // 0 or infinite
    return true;
  }
  return error == std::errc();
}

bool ParseGroupedNumber(std::string_view token, char separator, float& number) {
  const bool negative = token.starts_with('-');
  std::string_view rest = negative ? token.substr(1) : token;
  const char mark = separator == ';' ? '.' : ',', point = separator == ';' ? ',' : '.';
  const size_t at = std::min(rest.find(point), rest.size());
  const std::string_view whole = rest.substr(0, at), fraction = rest.substr(std::min(at + 1, rest.size()));
  const bool grouped = IsGrouped(whole, mark);
  if (!grouped && !(separator == ';' && AllDigits(whole) && at < rest.size())) return false;
  if (at < rest.size() && !AllDigits(fraction)) return false;
  if (separator == ';' && at == rest.size()) return false;  // 1.234 is a number as it stands
  std::string plain = negative ? "-" : "";
  for (const char c : whole)
    if (c != mark) plain += c;
  if (at < rest.size()) plain.append(1, '.').append(fraction);
  return ParseNumber(plain, number);
}

bool LooksNumeric(std::string_view token) {
  float number = 0;
  const std::string_view bare = token.starts_with('+') || token.starts_with('-') ? token.substr(1) : token;
  if (AllDigits(bare)) return true;
  return !bare.empty() && (AllDigits(bare.substr(0, 1)) || bare[0] == '.') && ParseNumber(bare, number);
}

bool IsMissingWord(std::string_view token) {
  if (token.size() > 6) return false;
  static constexpr std::array<std::string_view, 24> kSpellings = {
      "NA",   "N/A",  "n/a", "na",   "NaN", "nan", "NAN", "-nan", "-NaN", "null",   "NULL", "Null",
      "None", "#N/A", "#NA", "<NA>", "NaT", "nil", "-",   "--",   "?",    "#NULL!", "N.A.", "n.a."};
  return std::find(kSpellings.begin(), kSpellings.end(), token) != kSpellings.end();
}

size_t FirstNotUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    uint64_t eight = 0;
    while (text.size() - at >= sizeof(eight)) {  // plain ASCII, eight bytes at a time
      std::memcpy(&eight, text.data() + at, sizeof(eight));
      if ((eight & 0x8080808080808080u) != 0) break;
      at += sizeof(eight);
    }
    if (at == text.size()) break;
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead < 0x80) {
      ++at;
      continue;
    }
    const size_t more = lead >= 0xF0 && lead < 0xF5   ? 3
                        : lead >= 0xE0 && lead < 0xF0 ? 2
                        : lead >= 0xC2 && lead < 0xE0 ? 1
                                                      : 0;
    if (more == 0 || text.size() - at <= more) return at;
    const auto second = static_cast<unsigned char>(text[at + 1]);
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
      return at;  // overlong, a surrogate, or past Unicode
    }
    for (size_t k = 1; k <= more; ++k) {
      if ((static_cast<unsigned char>(text[at + k]) & 0xC0) != 0x80) return at;
    }
    at += more + 1;
  }
  return std::string_view::npos;
}

}  // namespace l2gcn
