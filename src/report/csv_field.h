// A text as one field of a CSV line, quoted where RFC 4180 asks for it.
#pragma once

#include <string>

namespace l2gcn {

inline std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace l2gcn
