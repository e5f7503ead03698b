// Tables in formats that are not read: spreadsheets, Parquet, JSON and others, told by their first bytes.
#pragma once

#include <string>
#include <string_view>

namespace l2gcn {

// Throws Error(kInput) where `start`, the first bytes of the file `where`, is the beginning of such a table: names
// the format, those that are read, and the command that converts the file.
void RefuseForeignTable(const std::string& where, std::string_view start);

}  // namespace l2gcn
