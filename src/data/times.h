// Times as tables hold them: numbers such as years or seconds, and dates of ISO 8601 with or without a time of day.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

namespace l2gcn {

enum class TimeFormat : uint8_t { kNumber, kMonth, kDate, kDateTime, kZonedDateTime };

// Named as a reader of a message sees it: "a number", "a date".
const char* NameOf(TimeFormat format);

struct Time {
  int64_t whole = 0;    // seconds since 1970-01-01, or the number without its fraction
  double fraction = 0;  // 0 … 1
  TimeFormat format = TimeFormat::kNumber;
  // Times of one format are in order.
  auto operator<=>(const Time&) const = default;
};

// Whole numbers are exact in 64 bits. False where the cell is no time.
bool ParseTime(std::string_view cell, Time& time);

}  // namespace l2gcn
