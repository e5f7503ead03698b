#include "data/table_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/threads.h"
#include "data/csv.h"

namespace l2gcn {
namespace {

constexpr size_t kFewNumbers = 10;  // A column of no more different numbers beside words stays one of words.
constexpr size_t kUnitsOfColumn = 8;  // A column of more units is one of words.
constexpr size_t kLongestUnit = 12;   // in bytes
constexpr size_t kOddExamples = 3;
constexpr std::string_view kNoBreakSpace = "\xc2\xa0";

// Whether so many cells that are no numbers leave a column one of numbers.
bool AreFew(size_t odd, size_t filled) { return odd * 10 <= filled; }

std::string_view TrimSpaces(std::string_view text) {
  for (;;) {
    const std::string_view before = text;
    text = TrimBlanks(text);
    if (text.starts_with(kNoBreakSpace)) text.remove_prefix(kNoBreakSpace.size());
    if (text.ends_with(kNoBreakSpace)) text.remove_suffix(kNoBreakSpace.size());
    if (text.size() == before.size()) return text;
  }
}

bool IsDecimal(char c) { return c >= '0' && c <= '9'; }

bool IsUnit(std::string_view unit) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  };
  return !unit.empty() && unit.size() <= kLongestUnit && (is_letter(unit[0]) || unit[0] == '%') &&
         std::all_of(unit.begin() + 1, unit.end(),
                     [&](char c) { return is_letter(c) || c == '/' || c == '.'; });
}

bool ParseBare(std::string_view text, char separator, TableNumber& parsed) {
  parsed.grouped = false;
  if (!ParseNumber(text, parsed.number)) {
    if (!ParseGroupedNumber(text, separator, parsed.number)) return false;
    parsed.grouped = true;
  }
  return std::isfinite(parsed.number);
}

// How often each unit stands in a column, and how many cells are filled and how many of these are no numbers.
struct UnitCounts {
  std::map<std::string, size_t, std::less<>> units;
  size_t filled = 0, odd = 0;
};

// False as soon as the column is clearly one of words.
bool CountUnits(const ColumnValues& column, char separator, UnitCounts& counts) {
  const size_t rows = column.text.size();
  for (size_t row = 0; row < rows; ++row) {
    const std::string_view cell = column.text[row];
    if (IsMissing(cell)) continue;
    ++counts.filled;
    TableNumber parsed;
    if (!ParseTableNumber(cell, separator, parsed)) {
      if (!AreFew(++counts.odd, rows)) return false;
      continue;
    }
    const auto unit = counts.units.find(parsed.unit);
    if (unit != counts.units.end()) {
      ++unit->second;
    } else if (counts.units.size() == kUnitsOfColumn) {
      return false;
    } else {
      counts.units.emplace(parsed.unit, 1);
    }
  }
  return !counts.units.empty();
}

ColumnValues NumbersOfUnit(const ColumnValues& column, char separator, const std::string& unit) {
  ColumnValues made;
  made.unit = unit;
  made.numbers.reserve(column.text.size());
  for (size_t row = 0; row < column.text.size(); ++row) {
    const std::string_view cell = column.text[row];
    TableNumber parsed;
    const bool missing = IsMissing(cell);
    const bool number = !missing && ParseTableNumber(cell, separator, parsed) && parsed.unit == unit;
    made.numbers.push_back(number ? parsed.number : std::numeric_limits<float>::quiet_NaN());
    made.missing += number ? 0 : 1;
    made.grouped += number && parsed.grouped ? 1 : 0;
    if (number || missing) continue;
    ++made.odd;
    std::vector<std::string>& examples = made.odd_examples;
    if (examples.size() < kOddExamples && std::find(examples.begin(), examples.end(), cell) == examples.end())
      examples.emplace_back(cell);
  }
  return made;
}

bool HoldsManyNumbers(const std::vector<float>& numbers) {
  std::set<float> different;
  for (const float number : numbers) {
    if (!std::isnan(number)) different.insert(number);
    if (different.size() > kFewNumbers) return true;
  }
  return false;
}

void TakeColumnForNumbers(char separator, ColumnValues& column) {
  UnitCounts counts;
  if (!CountUnits(column, separator, counts)) return;
  const auto usual = std::max_element(counts.units.begin(), counts.units.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  if (!AreFew(counts.filled - usual->second, counts.filled)) return;
  ColumnValues made = NumbersOfUnit(column, separator, usual->first);
  const bool plain = made.odd == 0 && made.unit.empty();
  if (plain || HoldsManyNumbers(made.numbers)) column = std::move(made);
}

}  // namespace

bool ParseTableNumber(std::string_view cell, char separator, TableNumber& parsed) {
  static constexpr std::array<std::string_view, 9> kBefore = {"$",   "€",   "£",   "¥",  "₹",
                                                              "USD", "EUR", "GBP", "CHF"};
  parsed.unit = {};
  if (ParseBare(cell, separator, parsed)) return true;
  const bool negative = cell.starts_with('-');
  std::string_view rest = negative ? cell.substr(1) : cell;
  const auto* sign = std::find_if(kBefore.begin(), kBefore.end(),
                                  [&](std::string_view known) { return rest.starts_with(known); });
  if (sign != kBefore.end()) {
    parsed.unit = rest.substr(0, sign->size());
    rest = TrimSpaces(rest.substr(sign->size()));
  } else {
    const size_t end = rest.find_last_of("0123456789.") + 1;  // 0 where there is none
    parsed.unit = TrimSpaces(rest.substr(end));
    rest = TrimSpaces(rest.substr(0, end));
    if (!IsUnit(parsed.unit)) return false;
  }
  const bool begins =
      !rest.empty() && (IsDecimal(rest[0]) || rest[0] == '.' || (rest[0] == '-' && !negative));
  if (!begins || !ParseBare(rest, separator, parsed)) return false;
  if (negative) parsed.number = -parsed.number;
  return true;
}

void TakeForNumbers(const Context& context, const std::vector<size_t>& as_text, Table& table) {
  ParallelTasks(context, table.columns.size(), [&](size_t c, uint32_t) {
    const bool kept = std::find(as_text.begin(), as_text.end(), c) != as_text.end();
    if (!kept && !table.columns[c].numeric) TakeColumnForNumbers(table.format.separator, table.columns[c]);
  });
}

}  // namespace l2gcn
