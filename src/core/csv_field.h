// Formats a text as one cell of a CSV line. All writers of CSV use it.
#pragma once

#include <cctype>
#include <charconv>
#include <string>
#include <string_view>

namespace l2gcn {

// Quoted where RFC 4180 asks for it, or where one of `specials` would mean something to a reader.
inline std::string CsvQuoted(std::string_view text, std::string_view specials = ",\"\r\n") {
  if (text.find_first_of(specials) == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// Whether a spreadsheet would run the text as a formula, quoted or not: it begins with = + - @, a tab or a carriage return
// and is no number.
inline bool IsFormula(std::string_view text) {
  if (text.empty() || std::string_view("=+-@\t\r").find(text[0]) == std::string_view::npos) return false;
  const std::string_view digits = text.substr(1);
  if ((text[0] != '-' && text[0] != '+') || digits.empty()) return true;
  if (digits[0] != '.' && std::isdigit(static_cast<unsigned char>(digits[0])) == 0) return true;
  double number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return parsed.ptr != digits.data() + digits.size() || parsed.ec == std::errc::invalid_argument;
}

// Names of nodes and classes as cells: one that a spreadsheet would run as a formula gets an apostrophe in front, which
// makes it text there, unless names are to be exact.
class CsvNames {
 public:
  explicit CsvNames(bool exact) : exact_(exact) {}

  std::string Cell(std::string_view name) {
    if (exact_ || !IsFormula(name)) return CsvQuoted(name);
    ++changed_;
    return CsvQuoted("'" + std::string(name));
  }
  // Cells that got an apostrophe.
  uint64_t changed() const { return changed_; }

 private:
  const bool exact_;
  uint64_t changed_ = 0;
};

}  // namespace l2gcn
