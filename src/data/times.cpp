#include "data/times.h"

#include <charconv>
#include <chrono>
#include <cmath>

namespace l2gcn {
namespace {

constexpr int64_t kSecondsPerDay = 86400;

// Reads a text from the front.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}
  bool at_end() const { return rest_.empty(); }
  bool Pass(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // A number of so many digits, no larger than `most`.
  bool Digits(size_t count, int most, int& number) {
    if (rest_.size() < count) return false;
    number = 0;
    for (const char c : rest_.substr(0, count)) {
      if (c < '0' || c > '9') return false;
      number = number * 10 + (c - '0');
    }
    rest_.remove_prefix(count);
    return number <= most;
  }
  // The digits behind a decimal point.
  bool Fraction(double& fraction) {
    double unit = 0.1;
    const size_t before = rest_.size();
    for (fraction = 0; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; unit /= 10) {
      fraction += unit * (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    return rest_.size() < before;
  }

 private:
  std::string_view rest_;
};

// Z, +01:00, +0100 or -08.
bool ParseZone(Cursor& at, int64_t& seconds) {
  if (at.Pass('Z')) return true;
  const bool west = at.Pass('-');
  if (!west && !at.Pass('+')) return false;
  int hours = 0, minutes = 0;
  if (!at.Digits(2, 23, hours)) return false;
  if (!at.at_end()) {
    at.Pass(':');
    if (!at.Digits(2, 59, minutes)) return false;
  }
  seconds = (west ? -1 : 1) * (hours * 3600 + minutes * 60);
  return true;
}

// Behind the date: 08:30, 08:30:59 or 08:30:59.123, and perhaps a zone.
bool ParseTimeOfDay(Cursor& at, Time& time) {
  int hours = 0, minutes = 0, seconds = 0;
  if (!at.Digits(2, 24, hours) || !at.Pass(':') || !at.Digits(2, 59, minutes)) return false;
  if (at.Pass(':') && !at.Digits(2, 60, seconds)) return false;
  if (at.Pass('.') && !at.Fraction(time.fraction)) return false;
  time.whole += hours * 3600 + minutes * 60 + seconds;
  time.format = TimeFormat::kDateTime;
  if (at.at_end()) return true;
  int64_t zone = 0;
  if (!ParseZone(at, zone)) return false;
  time.whole -= zone;
  time.format = TimeFormat::kZonedDateTime;
  return true;
}

bool ParseDate(std::string_view cell, Time& time) {
  Cursor at(cell);
  int year = 0, month = 0, day = 1;
  if (!at.Digits(4, 9999, year) || !at.Pass('-') || !at.Digits(2, 12, month)) return false;
  time.format = TimeFormat::kMonth;
  if (at.Pass('-')) {
    if (!at.Digits(2, 31, day)) return false;
    time.format = TimeFormat::kDate;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return false;
  time.whole = std::chrono::sys_days(date).time_since_epoch().count() * kSecondsPerDay;
  if (at.at_end()) return true;
  return time.format == TimeFormat::kDate && (at.Pass('T') || at.Pass(' ')) && ParseTimeOfDay(at, time) &&
         at.at_end();
}

bool ParseNumberTime(std::string_view cell, Time& time) {
  const char* const end = cell.data() + cell.size();
  const auto whole = std::from_chars(cell.data(), end, time.whole);
  if (whole.ptr == end && whole.ec == std::errc()) return true;
  double number = 0;
  const auto [at, error] = std::from_chars(cell.data(), end, number);
  if (at != end || error != std::errc() || !(std::abs(number) < 0x1p62)) return false;
  time.whole = static_cast<int64_t>(std::floor(number));
  time.fraction = number - std::floor(number);
  return true;
}

}  // namespace

const char* NameOf(TimeFormat format) {
  constexpr const char* kNames[] = {"a number", "a month", "a date", "a date with a time",
                                    "a date with a time and a zone"};
  return kNames[static_cast<size_t>(format)];
}

bool ParseTime(std::string_view cell, Time& time) {
  time = {};
  if (cell.empty()) return false;
  if (ParseNumberTime(cell, time)) return true;
  time = {};
  return ParseDate(cell, time);
}

}  // namespace l2gcn
